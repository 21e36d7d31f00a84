package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class MountedLayersTest {
    @Test
    void findsLowerLayersInBothSpellingsOfTheKernel() {
        assertThat(MountedLayers.parse(List.of(
                        "30 1 0:26 / /sys rw,relatime shared:7 - sysfs sysfs rw",
                        "99 1 0:45 / /m rw - overlay berth rw,lowerdir=/a/root:/b,upperdir=/u,workdir=/w",
                        "98 1 0:46 / /n rw - overlay berth rw,lowerdir+=/c\\040d,lowerdir+=/e,upperdir=/u2")))
                .containsExactly(Path.of("/a/root"), Path.of("/b"), Path.of("/c d"), Path.of("/e"));
    }
}

package dev.berth.sandbox.local.cgroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How each layout of cgroups is found and written, on directories that look like it. */
class CgroupsTest {
    private static final Limits LIMITS = Limits.DEFAULT.withCpus(1.5).withCpuWeight(200);

    @TempDir
    private Path mount;

    @Test
    void findsVersion2AndTurnsItsControllersOn() throws IOException {
        Files.createFile(mount.resolve("cgroup.controllers"));
        Cgroups cgroups = Cgroups.detect(mount, "data");
        cgroups.prepare();
        assertThat(mount.resolve("berth/data/cgroup.subtree_control")).hasContent("+memory +pids +cpu");
        assertThat(cgroups.of("box").directories()).containsExactly(mount.resolve("berth/data/box"));
        assertThat(cgroups.hybridMount()).isEmpty();
    }

    @Test
    void writesTheLimitsOfVersion2() throws IOException {
        Files.createFile(mount.resolve("cgroup.controllers"));
        Cgroup cgroup = Cgroups.detect(mount, "data").of("box");
        cgroup.create();
        Path box = mount.resolve("berth/data/box");
        Files.createFile(box.resolve("memory.swap.max"));
        cgroup.apply(LIMITS);
        assertThat(box.resolve("memory.max")).hasContent("536870912");
        assertThat(box.resolve("memory.swap.max")).hasContent("0");
        assertThat(box.resolve("pids.max")).hasContent("256");
        assertThat(box.resolve("cpu.max")).hasContent("150000 100000");
        assertThat(box.resolve("cpu.weight")).hasContent("200");
        cgroup.apply(Limits.DEFAULT);
        assertThat(box.resolve("cpu.max")).hasContent("max 100000");
    }

    @Test
    void readsTheStateOfVersion2() throws IOException {
        Files.createFile(mount.resolve("cgroup.controllers"));
        Cgroup cgroup = Cgroups.detect(mount, "data").of("box");
        assertThat(cgroup.populated()).isFalse();
        cgroup.create();
        Path box = mount.resolve("berth/data/box");
        Files.writeString(box.resolve("cgroup.procs"), "12\n34\n");
        Files.writeString(box.resolve("cgroup.events"), "populated 1\nfrozen 1\n");
        Files.writeString(box.resolve("memory.events"), "low 0\noom 3\noom_kill 2\n");
        Files.writeString(box.resolve("pids.events"), "max 5\n");
        Files.writeString(box.resolve("cpu.stat"), "usage_usec 1500\nuser_usec 1000\n");
        assertThat(cgroup.pids()).isEqualTo(List.of(12, 34));
        assertThat(cgroup.frozen()).isTrue();
        assertThat(cgroup.events()).isEqualTo(new Cgroup.Events(2, 5));
        assertThat(cgroup.cpuTime()).isEqualTo(Duration.ofNanos(1_500_000));
        cgroup.freeze(Duration.ofSeconds(1));
        assertThat(box.resolve("cgroup.freeze")).hasContent("1");
    }

    @Test
    void writesTheLimitsOfVersion1() throws IOException {
        hierarchies("memory", "pids", "cpu,cpuacct", "freezer");
        Cgroup cgroup = Cgroups.detect(mount, "data").of("box");
        cgroup.create();
        cgroup.apply(LIMITS);
        assertThat(mount.resolve("memory/berth/data/box/memory.limit_in_bytes")).hasContent("536870912");
        assertThat(mount.resolve("pids/berth/data/box/pids.max")).hasContent("256");
        assertThat(mount.resolve("cpu,cpuacct/berth/data/box/cpu.shares")).hasContent("2048");
        assertThat(cgroup.directories()).hasSize(4);
    }

    @Test
    void deniesDevicesInVersion1() throws IOException {
        hierarchies("memory", "pids", "cpu", "freezer", "devices");
        Cgroups.detect(mount, "data").of("box").create();
        assertThat(mount.resolve("devices/berth/data/box/devices.deny")).hasContent("a");
        assertThat(mount.resolve("devices/berth/data/box/devices.allow")).exists();
    }

    @Test
    void removesWhatACrashLeftHalfMadeInVersion1() throws IOException {
        hierarchies("memory", "pids", "cpu", "freezer");
        Cgroup cgroup = Cgroups.detect(mount, "data").of("box");
        Files.createDirectories(mount.resolve("memory/berth/data/box"));
        Files.createDirectories(mount.resolve("pids/berth/data/box"));
        cgroup.kill(Duration.ofSeconds(1));
        cgroup.remove();
        assertThat(mount.resolve("pids/berth/data/box")).doesNotExist();
    }

    @Test
    void namesTheControllerThatIsMissing() throws IOException {
        hierarchies("memory", "cpu", "freezer");
        assertThatThrownBy(() -> Cgroups.detect(mount, "data"))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("pids");
    }

    private void hierarchies(String... names) throws IOException {
        for (String name : names) {
            Files.createDirectories(mount.resolve(name));
            Files.createFile(mount.resolve(name).resolve("cgroup.procs"));
        }
    }
}

package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class OciRuntimeTest {
    @Test
    void tellsEarlyGvisorByTheDateInItsVersion() {
        assertThat(OciRuntime.beforeComplete("runsc version 0.0~20221219.0\nspec: 1.0.2-dev\n"))
                .isTrue();
        assertThat(OciRuntime.beforeComplete("runsc version release-20230327.0\n"))
                .isTrue();
        assertThat(OciRuntime.beforeComplete("runsc version release-20260504.0\n"))
                .isFalse();
        assertThat(OciRuntime.beforeComplete("runsc version VERSION_MISSING\n")).isFalse();
    }
}

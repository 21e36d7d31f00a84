package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.local.network.NetworkConfig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Needs root, and what an open network needs. */
final class BuildYardTest {
    @TempDir
    private Path dir;

    @Test
    void whoIsInterruptedLeavesNoRulesAndNoProcess() throws Exception {
        BuildYard yard = new BuildYard(dir, "yardtest", NetworkConfig.DEFAULT);
        List<String> argv = new ArrayList<>(yard.open());
        argv.addAll(List.of("unshare", "--net", "--pid", "--fork", "sleep", "1000"));
        Process step = new ProcessBuilder(argv).start();
        try {
            yard.connect();
            assertThat(tables()).contains("berth_yardtestb");

            Thread.currentThread().interrupt();
            yard.close();

            assertThat(Thread.interrupted()).isTrue();
            assertThat(tables()).doesNotContain("berth_yardtestb");
            assertThat(step.waitFor()).isEqualTo(128 + 9);
        } finally {
            boolean _ = Thread.interrupted();
            yard.close();
        }
    }

    private static String tables() throws IOException {
        Process nft = new ProcessBuilder("nft", "list", "tables").start();
        return new String(nft.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}

package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LayerCacheTest {
    private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

    @TempDir
    private Path dir;

    private LayerCache cache(long mostBytes) throws IOException {
        return new LayerCache(dir.resolve("layers"), Clock.fixed(NOW, ZoneOffset.UTC), mostBytes);
    }

    private String keep(String key, String below, int minutesAgo) throws IOException {
        Path files = Files.createDirectory(dir.resolve("files"));
        Files.write(files.resolve("file"), new byte[1000]);
        LayerCache.Layer layer = cache(Long.MAX_VALUE).keep(key, below, files, dir);
        Files.setLastModifiedTime(
                dir.resolve("layers").resolve(key).resolve("label"), FileTime.from(NOW.minusSeconds(60L * minutesAgo)));
        return layer.id();
    }

    @Test
    void whatWasNotUsedLongestGoesWhenThereIsTooMuch() throws IOException {
        String first = keep("first", "", 50);
        String _ = keep("on-first", first, 10);
        String second = keep("second", "", 40);
        String _ = keep("on-second", second, 30);

        cache(4000).forgetUnused();
        assertThat(cache(4000).find("on-second", second)).isPresent();
        Files.setLastModifiedTime(dir.resolve("layers/on-second/label"), FileTime.from(NOW.minusSeconds(1800)));

        cache(2500).forgetUnused();
        assertThat(dir.resolve("layers")).isDirectoryNotContaining(layer -> layer.endsWith("on-second"));
        assertThat(dir.resolve("layers")).isDirectoryNotContaining(layer -> layer.endsWith("second"));
        // older, and yet what the other one lies on
        assertThat(cache(2500).find("first", "")).isPresent();
        assertThat(cache(2500).find("on-first", first)).isPresent();
    }
}

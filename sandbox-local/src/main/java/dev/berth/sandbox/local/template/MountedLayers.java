package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Which directories this machine has mounted as lower layers, by /proc/self/mountinfo (proc(5)). */
final class MountedLayers {
    private static final String OPTION = "lowerdir=";

    private MountedLayers() {}

    static List<Path> lowerDirectories() throws IOException {
        return parse(Files.readAllLines(Path.of("/proc/self/mountinfo")));
    }

    static List<Path> parse(List<String> mountinfo) {
        List<Path> lower = new ArrayList<>();
        for (String line : mountinfo) {
            int tail = line.indexOf(" - overlay ");
            if (tail < 0) {
                continue;
            }
            String options = line.substring(line.lastIndexOf(' ') + 1);
            for (String option : options.split(",")) {
                if (option.startsWith(OPTION)) {
                    for (String path : option.substring(OPTION.length()).split(":")) {
                        lower.add(Path.of(path.replace("\\040", " ").replace("\\134", "\\")));
                    }
                }
            }
        }
        return lower;
    }
}

package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which directories this machine has mounted as lower layers, by /proc/self/mountinfo (proc(5)). */
final class MountedLayers {
    /** The second spelling is that of mounts made by fsconfig(2), one option to a layer. */
    private static final Pattern OPTION = Pattern.compile("lowerdir\\+?=(.*)");

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
                Matcher matcher = OPTION.matcher(option);
                if (matcher.matches()) {
                    for (String path : matcher.group(1).split(":")) {
                        lower.add(Path.of(path.replace("\\040", " ").replace("\\134", "\\")));
                    }
                }
            }
        }
        return lower;
    }
}

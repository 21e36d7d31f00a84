package dev.berth.sandbox;

import java.util.List;

/**
 * A volume in a sandbox's files.
 *
 * @param volume the id of one of the provider's {@link Volumes}
 * @param path where in the sandbox, absolute
 */
public record Mount(String volume, String path) {
    private static final int LONGEST = 4096;
    private static final List<String> NOT_THERE = List.of("/proc", "/sys", "/dev", "/.berth");

    public Mount {
        String why = problem(path);
        if (!why.isEmpty()) {
            throw SandboxException.invalid("a volume cannot be mounted at '" + path + "': " + why);
        }
    }

    private static String problem(String path) {
        if (!path.startsWith("/") || path.length() > LONGEST || path.indexOf('\0') >= 0) {
            return "the path has to be absolute, such as /mnt/data";
        }
        if (path.equals("/")) {
            return "it would hide the whole sandbox";
        }
        for (String part : path.substring(1).split("/", -1)) {
            if (part.isEmpty() || part.equals(".") || part.equals("..")) {
                return "write the path without empty parts and dots, such as /mnt/data";
            }
        }
        return NOT_THERE.stream().anyMatch(taken -> path.equals(taken) || path.startsWith(taken + "/"))
                ? "what is there is not the sandbox's own"
                : "";
    }

    /** Refuses mounts of which one would hide another. */
    public static List<Mount> checked(List<Mount> mounts) {
        for (int i = 0; i < mounts.size(); i++) {
            for (int j = 0; j < mounts.size(); j++) {
                String one = mounts.get(i).path;
                String other = mounts.get(j).path;
                if (i != j && (other + "/").startsWith(one + "/")) {
                    throw SandboxException.invalid("volumes cannot be mounted at both " + one + " and " + other);
                }
            }
        }
        return List.copyOf(mounts);
    }
}

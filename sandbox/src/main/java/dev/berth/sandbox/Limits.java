package dev.berth.sandbox;

/**
 * What one sandbox may use. Every value is enforced by the kernel or the provider; a provider that cannot enforce one
 * refuses it.
 *
 * @param memoryBytes memory of all its processes together; above it the OOM killer ends one of them
 * @param pids processes and threads at a time
 * @param cpus processors' worth of time at most, 0 for no ceiling
 * @param cpuWeight share when the processors are contended, 1 to 10000, 100 is ordinary
 * @param diskBytes what it may write beyond its template, 0 for no ceiling
 * @param outputBytes how much unread output of one stream of one command is kept
 */
public record Limits(long memoryBytes, int pids, double cpus, int cpuWeight, long diskBytes, int outputBytes) {
    private static final long MIB = 1024L * 1024;

    public static final Limits DEFAULT = new Limits(512 * MIB, 256, 0, 100, 10 * 1024 * MIB, (int) MIB);

    public Limits {
        check(memoryBytes >= 16 * MIB, "memory has to be at least 16m");
        check(pids >= 4, "pids has to be at least 4");
        check(cpus == 0 || (cpus >= 0.01 && cpus <= 4096), "cpus has to be 0 (no ceiling) or 0.01 to 4096");
        check(cpuWeight >= 1 && cpuWeight <= 10_000, "the cpu weight has to be 1 to 10000");
        check(diskBytes == 0 || diskBytes >= MIB, "disk has to be 0 (no ceiling) or at least 1m");
        check(outputBytes >= 4096 && outputBytes <= 16 * MIB, "output has to be 4k to 16m");
    }

    public Limits withMemory(long bytes) {
        return new Limits(bytes, pids, cpus, cpuWeight, diskBytes, outputBytes);
    }

    public Limits withPids(int count) {
        return new Limits(memoryBytes, count, cpus, cpuWeight, diskBytes, outputBytes);
    }

    public Limits withCpus(double count) {
        return new Limits(memoryBytes, pids, count, cpuWeight, diskBytes, outputBytes);
    }

    public Limits withCpuWeight(int weight) {
        return new Limits(memoryBytes, pids, cpus, weight, diskBytes, outputBytes);
    }

    public Limits withDisk(long bytes) {
        return new Limits(memoryBytes, pids, cpus, cpuWeight, bytes, outputBytes);
    }

    public Limits withOutput(int bytes) {
        return new Limits(memoryBytes, pids, cpus, cpuWeight, diskBytes, bytes);
    }

    private static void check(boolean holds, String message) {
        if (!holds) {
            throw SandboxException.invalid(message);
        }
    }
}

package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.util.Optional;

/**
 * What a tenant may use in sum. What is empty is not limited.
 *
 * @param live sessions that are up at a time; paused, stopped and archived ones do not count
 * @param createdPerMinute sandboxes made within a minute
 * @param memoryBytes the memory limits of all live sessions together
 * @param diskBytes what the files of all sessions take, as last measured
 * @param makesRoom whether the least recently used idle session is paused when one too many is wanted
 */
public record TenantLimits(
        Optional<Integer> live,
        Optional<Integer> createdPerMinute,
        Optional<Long> memoryBytes,
        Optional<Long> diskBytes,
        boolean makesRoom) {

    public static final TenantLimits DEFAULT =
            new TenantLimits(Optional.of(50), Optional.of(120), Optional.empty(), Optional.empty(), true);

    public TenantLimits {
        if (live.filter(n -> n < 0).isPresent()
                || createdPerMinute.filter(n -> n < 0).isPresent()
                || memoryBytes.filter(n -> n < 0).isPresent()
                || diskBytes.filter(n -> n < 0).isPresent()) {
            throw SandboxException.invalid("a tenant's limits cannot be negative; leave one out to have none");
        }
    }

    public TenantLimits withLive(int sessions) {
        return new TenantLimits(Optional.of(sessions), createdPerMinute, memoryBytes, diskBytes, makesRoom);
    }

    public TenantLimits withCreatedPerMinute(int count) {
        return new TenantLimits(live, Optional.of(count), memoryBytes, diskBytes, makesRoom);
    }

    public TenantLimits withMemory(long bytes) {
        return new TenantLimits(live, createdPerMinute, Optional.of(bytes), diskBytes, makesRoom);
    }

    public TenantLimits withDisk(long bytes) {
        return new TenantLimits(live, createdPerMinute, memoryBytes, Optional.of(bytes), makesRoom);
    }

    public TenantLimits withMakesRoom(boolean pausesOthers) {
        return new TenantLimits(live, createdPerMinute, memoryBytes, diskBytes, pausesOthers);
    }
}

package dev.berth.sandbox;

import java.time.Duration;

/**
 * What a sandbox uses now, and has used of the processors since its boot.
 *
 * @param cacheBytes how much of its memory are files that the kernel keeps as long as nobody needs the room
 */
public record Usage(long memoryBytes, int pids, Duration cpuTime, long diskBytes, long cacheBytes) {}

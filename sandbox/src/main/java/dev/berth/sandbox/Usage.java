package dev.berth.sandbox;

import java.time.Duration;

/** What a sandbox uses now, and has used of the processors since its boot. */
public record Usage(long memoryBytes, int pids, Duration cpuTime, long diskBytes) {}

package dev.berth.session;

/**
 * What a tenant uses.
 *
 * @param sessions all that have a computer, up or not
 * @param live those that are up
 * @param memoryBytes what the live ones may use
 * @param diskBytes what the files of all take, as last measured
 */
public record TenantUsage(String tenantId, long sessions, long live, long memoryBytes, long diskBytes) {}

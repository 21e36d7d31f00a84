package dev.berth.client;

import java.util.List;

/** For the operator. */
public final class Admin {
    private final BerthClient berth;

    Admin(BerthClient berth) {
        this.berth = berth;
    }

    /** @param limits by the names that the API has for them; what is not there is not limited */
    public record Tenant(String id, Json limits, Json json) {
        static Tenant of(Json json) {
            return new Tenant(json.get("tenant_id").text(), json.get("limits"), json);
        }
    }

    /** What a tenant uses now. */
    public record TenantUsage(String tenant, long sessions, long live, long memoryBytes, long diskBytes, Json json) {
        static TenantUsage of(Json json) {
            return new TenantUsage(
                    json.get("tenant_id").text(),
                    json.get("sessions").whole(),
                    json.get("live").whole(),
                    json.get("memory_bytes").whole(),
                    json.get("disk_bytes").whole(),
                    json);
        }
    }

    public List<Tenant> tenants() {
        return berth.list(Call.get("/v1/admin/tenants"), "tenants", Tenant::of);
    }

    public Tenant tenant(String id) {
        return Tenant.of(berth.json(Call.get(tenantPath(id))));
    }

    /** Makes a tenant, or changes its limits. */
    public Tenant putTenant(String id, Json limits) {
        return Tenant.of(berth.json(Call.put(tenantPath(id), limits)));
    }

    public List<TenantUsage> usage() {
        return berth.list(Call.get("/v1/admin/usage"), "tenants", TenantUsage::of);
    }

    /**
     * Has the server read its keys for sealing again, and seal everything with the first of them.
     *
     * @return how many values were {@code resealed}, and how many are {@code unopened}, as no key fits
     */
    public Json reseal() {
        return berth.json(Call.post("/v1/admin/reseal"));
    }

    static String tenantPath(String id) {
        return "/v1/admin/tenants/" + Call.encode(id);
    }
}

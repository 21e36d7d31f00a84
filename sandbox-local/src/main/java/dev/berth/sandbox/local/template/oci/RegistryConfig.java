package dev.berth.sandbox.local.template.oci;

import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which registries images may come from beside those of the public internet.
 *
 * @param known hosts that may be at private addresses, with their scheme: by {@code http} nothing is encrypted
 * @param mirror the host that is asked for images of Docker Hub
 */
public record RegistryConfig(Map<String, String> known, Optional<String> mirror) {
    public static final RegistryConfig DEFAULT = new RegistryConfig(Map.of(), Optional.empty());

    public RegistryConfig {
        known = Map.copyOf(known);
    }

    /** Of addresses such as {@code http://localhost:5000} or {@code registry.example.com}. */
    public static RegistryConfig of(List<String> registries, Optional<String> mirror) {
        Map<String, String> known = new HashMap<>();
        registries.forEach(address -> put(known, address));
        return new RegistryConfig(known, mirror.map(address -> put(known, address)));
    }

    private static String put(Map<String, String> known, String address) {
        try {
            URI uri = URI.create(address.contains("://") ? address : "https://" + address);
            String scheme = String.valueOf(uri.getScheme());
            String path = String.valueOf(uri.getPath());
            if (uri.getHost() != null
                    && uri.getUserInfo() == null
                    && (path.isEmpty() || path.equals("/"))
                    && (scheme.equals("http") || scheme.equals("https"))) {
                known.put(uri.getAuthority(), scheme);
                return uri.getAuthority();
            }
        } catch (IllegalArgumentException e) {
            // told below
        }
        throw SandboxException.invalid("'" + address
                + "' is not the address of a registry; write one like registry.example.com or http://localhost:5000");
    }
}

package dev.berth.sandbox.local.template.oci;

import java.util.List;
import java.util.Map;

/**
 * An image that a registry has.
 *
 * @param digest of its manifest, which everything else follows from
 * @param env what it sets for programs
 * @param layers the lowest first
 */
public record Image(ImageName name, String digest, Map<String, String> env, List<Layer> layers, RegistryAccess access) {
    public Image {
        env = Map.copyOf(env);
        layers = List.copyOf(layers);
    }

    /** A tar file, compressed or not. */
    public record Layer(String digest, long size) {}
}

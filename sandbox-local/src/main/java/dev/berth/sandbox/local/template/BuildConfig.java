package dev.berth.sandbox.local.template;

import dev.berth.sandbox.local.template.oci.RegistryConfig;

/**
 * How templates are built that somebody asks for by the API. What an operator builds of his own files is not meant.
 *
 * @param registries where images may come from
 * @param network what the commands of a build reach
 */
public record BuildConfig(RegistryConfig registries, Reach network) {
    public static final BuildConfig DEFAULT = new BuildConfig(RegistryConfig.DEFAULT, Reach.OPEN);

    /** What the commands of a build reach. */
    public enum Reach {
        /** Nothing. */
        NONE,
        /** Everything public, and nothing of this machine or its neighbours. */
        OPEN,
        /** Everything that this machine reaches, itself among it. */
        HOST
    }
}

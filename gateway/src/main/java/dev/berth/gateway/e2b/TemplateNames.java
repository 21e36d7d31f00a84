package dev.berth.gateway.e2b;

import dev.berth.sandbox.Limits;
import dev.berth.session.KeptCheckpoint;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** Tells which template a client means. */
public interface TemplateNames {
    /**
     * A template under the name that a client knows it by.
     *
     * @param template what sessions know it by
     */
    record Named(String template, String id, Optional<String> alias, OptionalDouble cpus, OptionalLong memoryBytes) {
        Limits limits(Limits usual) {
            Limits limits = cpus.isPresent() ? usual.withCpus(cpus.getAsDouble()) : usual;
            return memoryBytes.isPresent() ? limits.withMemory(memoryBytes.getAsLong()) : limits;
        }
    }

    /** @throws E2bError 404 if the tenant has no such template */
    Named resolve(String tenant, String templateId);

    static Named of(KeptCheckpoint snapshot) {
        return new Named(
                snapshot.template(), snapshot.id(), snapshot.name(), OptionalDouble.empty(), OptionalLong.empty());
    }
}

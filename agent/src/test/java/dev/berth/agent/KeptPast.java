package dev.berth.agent;

import java.util.List;
import java.util.Optional;

/** A past that is known from the beginning. */
public record KeptPast(Optional<String> conversation, Optional<byte[]> transcript, List<Said> said) implements Past {
    public static Past transcript(Optional<byte[]> transcript) {
        return new KeptPast(Optional.empty(), transcript, List.of());
    }
}

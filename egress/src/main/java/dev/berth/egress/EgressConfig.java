package dev.berth.egress;

import java.time.Duration;

/**
 * How patient the way out is.
 *
 * @param firstWords how long a program inside may take to say what it wants, and to begin to speak after that
 * @param connect how long a server outside may take to accept a connection
 * @param idle after which silence in both directions a tunnel is cut
 */
public record EgressConfig(Duration firstWords, Duration connect, Duration idle) {
    public static final EgressConfig DEFAULT =
            new EgressConfig(Duration.ofSeconds(30), Duration.ofSeconds(10), Duration.ofHours(1));

    public EgressConfig {
        if (!firstWords.isPositive() || !connect.isPositive() || !idle.isPositive()) {
            throw new IllegalArgumentException("the patience of the way out has to be longer than nothing");
        }
    }

    public EgressConfig withFirstWords(Duration patience) {
        return new EgressConfig(patience, connect, idle);
    }

    public EgressConfig withConnect(Duration patience) {
        return new EgressConfig(firstWords, patience, idle);
    }

    public EgressConfig withIdle(Duration patience) {
        return new EgressConfig(firstWords, connect, patience);
    }
}

package dev.berth.session;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import java.util.Map;
import java.util.Optional;

/**
 * What a session is to be when its computer is made. It is read when the first message of a conversation comes; later
 * ones get the computer that is there.
 *
 * @param network what it may reach
 * @param channel where the conversation happens, for people who look at a list
 * @param env variables for each command; no place for keys, which a sandbox should never see
 * @param autoCheckpoint whether the files are kept before a turn's first write
 * @param keepCheckpoints of how many turns they are kept
 */
public record SessionSpec(
        String template,
        Limits limits,
        Network network,
        Map<String, String> env,
        Optional<String> channel,
        IdlePolicy idle,
        boolean autoCheckpoint,
        int keepCheckpoints) {

    public static final SessionSpec DEFAULT = new SessionSpec(
            "base", Limits.DEFAULT, Network.NONE, Map.of(), Optional.empty(), IdlePolicy.DEFAULT, false, 20);

    public SessionSpec {
        env = Map.copyOf(env);
        if (keepCheckpoints < 1 || keepCheckpoints > 1000) {
            throw SandboxException.invalid("checkpoints are kept of 1 to 1000 turns, not " + keepCheckpoints);
        }
    }

    public SessionSpec withTemplate(String name) {
        return new SessionSpec(name, limits, network, env, channel, idle, autoCheckpoint, keepCheckpoints);
    }

    public SessionSpec withLimits(Limits newLimits) {
        return new SessionSpec(template, newLimits, network, env, channel, idle, autoCheckpoint, keepCheckpoints);
    }

    public SessionSpec withNetwork(Network newNetwork) {
        return new SessionSpec(template, limits, newNetwork, env, channel, idle, autoCheckpoint, keepCheckpoints);
    }

    public SessionSpec withEnv(Map<String, String> newEnv) {
        return new SessionSpec(template, limits, network, newEnv, channel, idle, autoCheckpoint, keepCheckpoints);
    }

    public SessionSpec withChannel(String name) {
        return new SessionSpec(
                template, limits, network, env, Optional.of(name), idle, autoCheckpoint, keepCheckpoints);
    }

    public SessionSpec withIdle(IdlePolicy policy) {
        return new SessionSpec(template, limits, network, env, channel, policy, autoCheckpoint, keepCheckpoints);
    }

    /** Keeps the files as they were before each of the last turns that wrote something. */
    public SessionSpec withAutoCheckpoints(int keep) {
        return new SessionSpec(template, limits, network, env, channel, idle, true, keep);
    }
}

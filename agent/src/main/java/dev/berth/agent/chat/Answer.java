package dev.berth.agent.chat;

import java.util.List;

/**
 * What a model said.
 *
 * @param cut whether it reached its own limit before it had said all
 */
record Answer(String text, List<Call> calls, boolean cut) {
    Answer {
        calls = List.copyOf(calls);
    }
}

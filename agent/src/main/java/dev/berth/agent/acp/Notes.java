package dev.berth.agent.acp;

import java.util.List;
import java.util.Objects;

/**
 * What a server that comes after this one has to know of an agent, and cannot ask it.
 *
 * @param process which one this is about, as another may run by now
 * @param life a name of its own, as numbers of processes and of questions come again
 * @param turn the id of the last prompt, empty if there was none
 * @param from the position before that prompt; what came earlier was told, or belongs to the past
 * @param saying messages of that prompt, as long as it may not have been sent
 * @param waiting messages for the prompt after it
 * @param forgetful whether the agent has not been told yet what was said before
 */
record Notes(
        String process,
        String life,
        String conversation,
        String turn,
        long from,
        List<String> saying,
        List<String> waiting,
        boolean forgetful) {
    Notes {
        // They are read from a file that anybody in the sandbox can write.
        Objects.requireNonNull(process);
        Objects.requireNonNull(life);
        Objects.requireNonNull(conversation);
        Objects.requireNonNull(turn);
        saying = List.copyOf(saying);
        waiting = List.copyOf(waiting);
    }
}

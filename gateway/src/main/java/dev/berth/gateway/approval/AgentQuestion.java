package dev.berth.gateway.approval;

import dev.berth.session.SessionKey;
import tools.jackson.databind.node.ObjectNode;

/**
 * What an agent asks before it uses one of its tools.
 *
 * @param id its own name for the question, by which it is known when it is asked again
 * @param actor whose message the agent acts on
 * @param title one line for people
 * @param detail what exactly it wants to do, such as a command; empty if the title says it
 */
public record AgentQuestion(
        SessionKey session,
        String run,
        String id,
        String actor,
        String tool,
        String title,
        String detail,
        ObjectNode arguments) {}

package dev.berth.session.job;

import dev.berth.sandbox.Command;
import java.util.Optional;

/**
 * A command to run in the background.
 *
 * @param text what is shown of it
 * @param command what is run; its tag and what happens when nobody reads are not the caller's choice
 * @param actor who starts it
 * @param callId the call that it was started by
 */
public record JobRequest(String text, Command command, String actor, Optional<String> callId) {}

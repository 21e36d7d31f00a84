package dev.berth.gateway.mcp;

import dev.berth.gateway.http.CallEvents;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Tells the client what happens in a call, if it wants to know. Output is told a few times a second and not more, the end
 * of it if it is much: the whole of it comes with the result.
 */
final class Progress implements CallEvents {
    private static final Duration PAUSE = Duration.ofMillis(250);
    private static final int MOST = 4000;

    private final McpAsyncServerExchange client;
    private final Object token;
    private final Executor later =
            CompletableFuture.delayedExecutor(PAUSE.toMillis(), TimeUnit.MILLISECONDS, Thread::startVirtualThread);
    private final StringBuilder output = new StringBuilder(); // guarded by this
    private boolean pausing; // guarded by this
    private boolean over; // guarded by this
    private int told; // guarded by this

    Progress(McpAsyncServerExchange client, Object token) {
        this.client = client;
        this.token = token;
    }

    @Override
    public synchronized void event(String name, Map<String, Object> data) {
        switch (name) {
            case "output" -> {
                output.append(data.get("text"));
                if (output.length() > 2 * MOST) {
                    output.delete(0, output.length() - MOST);
                }
                if (!pausing) {
                    tellOutput();
                }
            }
            case "approval" -> {
                tellOutput();
                tell("A person has to allow '" + data.get("tool") + "'; waiting for approval "
                        + data.get("approval_id"));
            }
            case "state" -> tell("The computer of session " + data.get("session_id") + " is " + data.get("state"));
            default -> {} // what else there is comes with the result
        }
    }

    /** Tells what is left; nothing is told after it. */
    synchronized void end() {
        tellOutput();
        over = true;
    }

    private synchronized void pauseOver() {
        pausing = false;
        tellOutput();
    }

    private void tellOutput() {
        if (output.isEmpty() || over) {
            return;
        }
        String text = output.length() > MOST ? output.substring(output.length() - MOST) : output.toString();
        output.setLength(0);
        tell(text);
        pausing = true;
        later.execute(this::pauseOver);
    }

    private void tell(String message) {
        if (!over) {
            told++;
            client.progressNotification(ProgressNotification.builder(token, told)
                            .message(message)
                            .build())
                    .block();
        }
    }
}

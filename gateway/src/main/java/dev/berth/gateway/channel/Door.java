package dev.berth.gateway.channel;

import dev.berth.gateway.http.Answer;
import java.util.List;
import java.util.Map;

/** Takes what a service sends. Nobody has looked at it: whether it is who it says it is, is found out here. */
public interface Door {
    Answer.Raw take(Knock knock) throws InterruptedException;

    /**
     * A request.
     *
     * @param page what was called, below the channel's own address
     * @param headers those that channels sign or sort requests by
     * @param body exactly as it came
     */
    record Knock(
            String method, String page, Map<String, String> query, Map<String, List<String>> headers, byte[] body) {}
}

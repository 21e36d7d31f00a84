package dev.berth.gateway.e2b;

import dev.berth.session.SessionQuery.Cursor;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** Which part of a list is asked for: so many entries after one that was shown. */
record Page(int limit, Optional<Cursor> after) {
    static final String NEXT = "X-Next-Token";

    private static final int MOST = 100;
    private static final String BETWEEN = "__";

    static Page read(Call call) {
        int limit = call.query("limit").map(Page::limit).orElse(MOST);
        return new Page(
                limit, call.query("nextToken").filter(token -> !token.isEmpty()).map(Page::cursor));
    }

    private static int limit(String text) {
        if (!text.matches("[0-9]{1,4}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > MOST) {
            throw new E2bError(400, "limit must be between 1 and " + MOST);
        }
        return Integer.parseInt(text);
    }

    private static Cursor cursor(String token) {
        try {
            String text = new String(Base64.getUrlDecoder().decode(token), StandardCharsets.UTF_8);
            int between = text.indexOf(BETWEEN);
            if (between > 0 && text.indexOf('\0') < 0) {
                return new Cursor(Moments.read(text.substring(0, between)), text.substring(between + BETWEEN.length()));
            }
        } catch (IllegalArgumentException | DateTimeException e) {
            throw invalid();
        }
        throw invalid();
    }

    private static E2bError invalid() {
        return new E2bError(400, "Invalid next token");
    }

    static String token(Cursor last) {
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString((last.createdAt() + BETWEEN + last.id()).getBytes(StandardCharsets.UTF_8));
    }

    <T> List<T> cut(List<T> found) {
        return found.size() > limit ? found.subList(0, limit) : found;
    }
}

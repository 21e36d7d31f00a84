package dev.berth.channel.slack;

import dev.berth.channel.Board;
import dev.berth.channel.ChannelException;
import dev.berth.channel.Files;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * Makes a thread look like a board. Every message has a slot, and a slot is written once and then changed: {@code live} for
 * the status, the steps and the Stop button, {@code text:0} and so on for the answer, {@code card:…}, {@code file:…} and
 * {@code note}.
 */
final class Painter {
    private static final Logger LOG = LoggerFactory.getLogger(Painter.class);
    private static final String LIVE = "live";
    private static final String STATUS = "status";
    private static final String NOTE = "note";
    private static final int PAGES = 5;

    private final Writer writer;
    private final Uploads uploads;
    private final Cut cut = new Cut(Cut.MOST);
    private final Board board;
    private final Memo memo;

    Painter(Writer writer, Uploads uploads, Board board, Memo memo) {
        this.writer = writer;
        this.uploads = uploads;
        this.board = board;
        this.memo = memo;
    }

    void paint(Files files) throws InterruptedException {
        if (memo.done()) {
            return;
        }
        boolean ended = board.end().isPresent();
        boolean shown = ended || !status();
        boolean live = !board.steps().isEmpty() || (shown && !ended);
        boolean before = !ended || memo.get(LIVE).isEmpty();
        if (live && before) {
            put(LIVE, Letters.live(board));
        }
        text();
        for (Board.Card card : board.cards()) {
            put("card:" + card.approval(), Letters.card(card));
        }
        for (Board.Shown file : board.files()) {
            file(file, files);
        }
        if (board.end().isPresent()) {
            end(board.end().get(), live && !before);
        }
    }

    /** An assistant's thread has a line for that. Returns whether it is all there is to say. */
    private boolean status() throws InterruptedException {
        if (!writer.spot.panel()
                || !board.text().isBlank()
                || !board.steps().isEmpty()
                || memo.get(LIVE).isPresent()) {
            return false;
        }
        String hash = Letter.of(Letters.status(board)).hash();
        if (memo.get(STATUS).filter(written -> written.hash().equals(hash)).isPresent()) {
            return true;
        }
        if (!writer.status(Letters.status(board))) {
            return false;
        }
        memo.put(STATUS, "", hash);
        return true;
    }

    private void text() throws InterruptedException {
        List<String> parts = cut.apply(board.text());
        for (int i = 0; i < parts.size(); i++) {
            put("text:" + i, Letter.of(Mrkdwn.of(parts.get(i))));
        }
        // An answer that begins again may be shorter.
        for (int i = parts.size(); memo.get("text:" + i).isPresent(); i++) {
            remove("text:" + i);
        }
    }

    private void end(Board.End end, boolean live) throws InterruptedException {
        Optional<String> note = end.note().filter(text -> !text.isBlank());
        if (note.isPresent()) {
            put(NOTE, Letters.note(end, note.get()));
        } else if (board.text().isBlank() && board.files().isEmpty()) {
            put(NOTE, Letter.of(end.ok() ? "Done." : ":warning: It ended without an answer. Ask again."));
        }
        if (live) {
            put(LIVE, Letters.live(board));
        } else if (board.steps().isEmpty() && memo.get(LIVE).isPresent()) {
            remove(LIVE);
        }
        if (memo.get(STATUS).isPresent()) {
            // Slack clears it when something is written, but that may have been before the status was set.
            writer.status("");
        }
        memo.finish();
    }

    private void put(String slot, Letter letter) throws InterruptedException {
        Optional<Memo.Written> written = memo.get(slot);
        if (written.isEmpty()) {
            String ts = writer.post(letter, Map.of("run", board.run(), "slot", slot));
            memo.put(slot, ts, letter.hash());
        } else if (!written.get().hash().equals(letter.hash())) {
            writer.update(written.get().ts(), letter);
            memo.put(slot, written.get().ts(), letter.hash());
        }
    }

    private void remove(String slot) throws InterruptedException {
        Optional<Memo.Written> written = memo.get(slot);
        if (written.isPresent()) {
            writer.delete(written.get().ts());
            memo.remove(slot);
        }
    }

    private void file(Board.Shown file, Files files) throws InterruptedException {
        String slot = "file:" + file.artifact();
        if (memo.get(slot).isPresent()) {
            return;
        }
        Optional<String> problem = send(writer, uploads, file, files);
        if (problem.isPresent()) {
            put(slot, Letter.of(problem.get()));
        } else {
            memo.put(slot, "", "");
        }
    }

    /** Returns what to say if a file cannot be shown, now and later. */
    static Optional<String> send(Writer writer, Uploads uploads, Board.Shown file, Files files)
            throws InterruptedException {
        String name = "`" + Mrkdwn.plain(Letters.shorten(file.name(), 120)) + "`";
        if (file.size() <= 0) {
            return Optional.of("The file " + name + " is empty.");
        }
        if (file.size() > Uploads.MOST) {
            return Optional.of("The file " + name + " is too large for Slack, which takes 1 GB. Ask for it in parts.");
        }
        try (InputStream content = files.open(file)) {
            uploads.upload(writer.workspace, writer.spot, file, content);
            return Optional.empty();
        } catch (SandboxException e) {
            LOG.info("the file {} cannot be read", file.artifact(), e);
            return Optional.of(":warning: The file " + name + " could not be read any more. Ask for it again.");
        } catch (ChannelException e) {
            if (e.lasting()) {
                LOG.info("the file {} cannot be sent to Slack", file.artifact(), e);
                return Optional.of(":warning: The file " + name + " could not be sent: "
                        + Mrkdwn.plain(Optional.ofNullable(e.getMessage()).orElse("")));
            }
            throw e;
        } catch (IOException e) {
            throw new ChannelException("the file could not be closed after it was sent", e);
        }
    }

    /**
     * Finds what was written of this run without being noted: the server ended between the two, or Slack's answer was lost.
     * Messages carry the run and the slot; files are known by their names and sizes.
     */
    void recover() throws InterruptedException {
        String cursor = "";
        for (int page = 0; page < PAGES; page++) {
            JsonNode answer;
            try {
                answer = writer.written(cursor);
            } catch (ChannelException e) {
                LOG.warn("could not look for what was written of the run {} before", board.run(), e);
                return;
            }
            for (JsonNode message : answer.path("messages")) {
                recognise(message);
            }
            cursor = answer.path("response_metadata").path("next_cursor").asString("");
            if (cursor.isEmpty()) {
                return;
            }
        }
    }

    private void recognise(JsonNode message) {
        if (!message.path("user").asString("").equals(writer.workspace.botUser())) {
            return;
        }
        JsonNode metadata = message.path("metadata");
        JsonNode payload = metadata.path("event_payload");
        if (metadata.path("event_type").asString("").equals(Writer.EVENT_TYPE)
                && payload.path("run").asString("").equals(board.run())) {
            String slot = payload.path("slot").asString("");
            if (memo.get(slot).isEmpty()) {
                memo.put(slot, message.path("ts").asString(""), "");
            }
        }
        for (JsonNode file : message.path("files")) {
            board.files().stream()
                    .filter(shown -> memo.get("file:" + shown.artifact()).isEmpty())
                    .filter(shown -> shown.name().equals(file.path("name").asString(""))
                            && shown.size() == file.path("size").asLong(-1))
                    .findFirst()
                    .ifPresent(shown -> memo.put("file:" + shown.artifact(), "", ""));
        }
    }
}

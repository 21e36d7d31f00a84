package dev.berth.channel.slack;

import dev.berth.channel.Board;
import dev.berth.channel.Channel;
import dev.berth.channel.ChannelException;
import dev.berth.channel.Files;
import dev.berth.channel.Inbox;
import dev.berth.channel.Place;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;

/**
 * Slack.
 *
 * <p>A run is never shown twice: what was written is in the memo, and what is not in there because this server ended, or
 * because Slack's answer was lost, is looked up in the thread. One window is left. A server that ends after it wrote the very
 * first status and before its memo was stored is followed by one that writes that status again, if nothing else has happened
 * in the run by then; it does not look, so that the first status is there at once.
 */
public final class SlackChannel implements Channel {
    public static final String NAME = "slack";

    /** How often Socket Mode looks whether its connection still works. */
    private static final Duration WATCH = Duration.ofSeconds(5);

    private static final Duration KEPT = Duration.ofHours(12);

    /** How far a run is shown, by this server. */
    private record Progress(Memo memo, boolean sure) {}

    private final SlackConfig config;
    private final SlackApi api;
    private final Workspaces workspaces;
    private final Optional<Installations> installations;
    private final Uploads uploads;
    private final Pace pace;
    private final InstantSource clock;
    private final Duration watch;
    private final Remembered<String, Progress> runs;
    /** Guarded by this. */
    private Optional<Intake> intake = Optional.empty();

    private Optional<Socket> socket = Optional.empty();

    public SlackChannel(SlackConfig config, Optional<Installations> installations) {
        this(config, installations, InstantSource.system(), WATCH);
    }

    SlackChannel(SlackConfig config, Optional<Installations> installations, InstantSource clock, Duration watch) {
        if (config.oauth().isPresent() && installations.isEmpty()) {
            throw new IllegalArgumentException("installations by OAuth need a database to be kept in");
        }
        this.config = config;
        this.clock = clock;
        this.watch = watch;
        this.installations = installations;
        this.api = new SlackApi(config.api(), clock);
        this.workspaces = new Workspaces(api, config.botToken(), installations, clock);
        this.uploads = new Uploads(api);
        this.pace = new Pace(config.pace(), clock);
        this.runs = new Remembered<>(2_000, KEPT, clock);
    }

    /** Tells an inbox what people do from now on. With Socket Mode, the connection is made here and kept up. */
    public synchronized void listen(Inbox inbox) {
        if (intake.isPresent()) {
            throw new IllegalStateException("there is an inbox already");
        }
        Intake made = new Intake(api, workspaces, uploads, pace, inbox, clock);
        intake = Optional.of(made);
        made.prepare();
        if (config.mode() == SlackConfig.Mode.SOCKET) {
            Socket connection = new Socket(api.slack(), config.appToken().orElseThrow(), made, watch);
            socket = Optional.of(connection);
            connection.start();
        }
    }

    /** What Slack and browsers call. To be asked for after {@link #listen}. */
    public synchronized SlackHttp http() {
        return new SlackHttp(
                config.signingSecret(),
                intake.orElseThrow(() -> new IllegalStateException("nobody listens yet")),
                config.oauth().flatMap(oauth -> installations.map(rows -> new Install(oauth, api, rows, workspaces))),
                clock);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String show(Place place, String reply, Board board, Files files, String memo) throws InterruptedException {
        Progress known = runs.peek(board.run());
        Memo given = read(memo);
        Memo latest = known != null && known.memo.version() >= given.version() ? known.memo : given;
        if (latest.done()) {
            return latest.json();
        }
        Writer writer = new Writer(api, pace, workspaces.get(place.workspace()), Spot.of(reply));
        Painter painter = new Painter(writer, uploads, board, latest);
        if (known == null ? !memo.isBlank() || !fresh(board) : !known.sure) {
            painter.recover();
        }
        // Until it comes back it is not sure what Slack has: also a call that fails may have been done.
        runs.put(board.run(), new Progress(latest, false));
        try {
            painter.paint(files);
        } catch (ChannelException e) {
            if (e.lasting()) {
                workspaces.forget(place.workspace());
            }
            throw e;
        }
        runs.put(board.run(), new Progress(latest, true));
        return latest.json();
    }

    private static boolean fresh(Board board) {
        return board.text().isBlank()
                && board.steps().isEmpty()
                && board.cards().isEmpty()
                && board.files().isEmpty()
                && board.end().isEmpty();
    }

    private static Memo read(String memo) {
        try {
            return Memo.of(memo);
        } catch (JacksonException e) {
            throw new IllegalArgumentException("this is not a memo of Slack", e);
        }
    }

    @Override
    public void notice(Place place, String text, List<Board.Shown> shown, Files files) throws InterruptedException {
        Workspace workspace = workspaces.get(place.workspace());
        Writer writer = new Writer(api, pace, workspace, spot(workspace, place));
        for (String part : new Cut(Cut.MOST).apply(text)) {
            writer.post(Letter.of(Mrkdwn.of(part)), Map.of());
        }
        for (Board.Shown file : shown) {
            Optional<String> problem = Painter.send(writer, uploads, file, files);
            if (problem.isPresent()) {
                writer.post(Letter.of(problem.get()), Map.of());
            }
        }
    }

    private Spot spot(Workspace workspace, Place place) throws InterruptedException {
        if (!place.room().equals(Places.DIRECT)) {
            return new Spot(place.room(), place.thread(), "");
        }
        String channel = api.need(workspace, "conversations.open", Map.of("users", place.thread()))
                .path("channel")
                .path("id")
                .asString("");
        return new Spot(channel, "", "");
    }

    @Override
    public synchronized void close() {
        socket.ifPresent(Socket::close);
        intake.ifPresent(Intake::close);
        uploads.close();
        api.close();
    }
}

package dev.berth.channel;

import dev.berth.channel.NoticeTable.Due;
import dev.berth.channel.NoticeTable.Happened;
import dev.berth.channel.NoticeTable.News;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.job.Job;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells places what happened in their sessions beside the runs that are shown there: jobs that ended, files that came
 * late. Looking at an event and writing down what has to be told of it is one transaction, so that each is told once.
 */
final class Notices {
    private static final Logger LOG = LoggerFactory.getLogger(Notices.class);
    private static final int COMMAND = 80;

    private final Parts parts;
    /** By their numbers. */
    private final Map<Long, Thread> telling = new ConcurrentHashMap<>();

    private volatile boolean stopped;

    Notices(Parts parts) {
        this.parts = parts;
    }

    void sweep() {
        List<News> news = parts.database()
                .query(handle -> NoticeTable.news(handle, parts.channels().names()));
        List<News> nothing = news.stream().filter(one -> one.event().isEmpty()).toList();
        if (!nothing.isEmpty()) {
            parts.database().query(handle -> {
                NoticeTable.looked(handle, nothing);
                return nothing;
            });
        }
        Map<Long, List<News>> byPlace = new LinkedHashMap<>();
        news.stream()
                .filter(one -> one.event().isPresent())
                .forEach(one -> byPlace.computeIfAbsent(one.place(), _ -> new ArrayList<>())
                        .add(one));
        byPlace.values().forEach(this::write);
        parts.database()
                .query(handle -> {
                    NoticeTable.renew(
                            handle,
                            parts.server(),
                            telling.keySet(),
                            parts.config().lease());
                    return NoticeTable.claim(
                            handle,
                            parts.channels().names(),
                            parts.server(),
                            parts.config().lease());
                })
                .forEach(this::start);
    }

    private void write(List<News> news) {
        List<Happened> events =
                news.stream().flatMap(one -> one.event().stream()).toList();
        List<String> lines = new ArrayList<>(events.stream()
                .filter(event -> event.type().equals("job.ended"))
                .map(this::ended)
                .toList());
        List<Board.Shown> files = events.stream()
                .filter(event -> event.type().equals("artifact.made"))
                .map(Notices::shown)
                .toList();
        if (lines.isEmpty() && !files.isEmpty()) {
            lines.add(files.size() == 1 ? "There is a new file:" : "There are new files:");
        }
        News first = news.getFirst();
        parts.database().transaction(handle -> {
            boolean mine = NoticeTable.looked(handle, first.place(), first.told(), NoticeTable.end(news));
            if (mine && !lines.isEmpty()) {
                NoticeTable.insert(handle, first.place(), String.join("\n", lines), files);
            }
            return mine;
        });
    }

    private String ended(Happened event) {
        String id = text(event, "job_id");
        Optional<Job> job = parts.jobs().find(id);
        String what = job.map(known -> "The job " + Plain.code(known.command(), COMMAND))
                .orElse("The job " + Plain.code(id, COMMAND));
        return switch (text(event, "state")) {
            case "completed" -> what + " is done.";
            case "stopped" -> what + " was stopped.";
            default ->
                what + " failed: "
                        + job.flatMap(Job::error)
                                .map(error -> Plain.line(error, 300))
                                .orElse("exit code " + event.data().getOrDefault("exit_code", "unknown"))
                        + ".";
        };
    }

    private static Board.Shown shown(Happened event) {
        String name = text(event, "name");
        String title = text(event, "title");
        long size = event.data().get("size") instanceof Number number ? number.longValue() : 0;
        return new Board.Shown(
                text(event, "artifact_id"), name, title.isBlank() ? name : title, text(event, "mime_type"), size);
    }

    private static String text(Happened event, String name) {
        return event.data().get(name) instanceof String text ? text : "";
    }

    private void start(Due due) {
        Optional<Channel> channel = parts.channels().find(due.place().place().channel());
        if (channel.isEmpty() || stopped) {
            return;
        }
        Thread thread = Thread.ofVirtual().name("notice " + due.number()).unstarted(() -> {
            try {
                tell(channel.get(), due);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                // Its lease runs out, and it is tried again.
                LOG.atWarn().addKeyValue("notice", due.number()).setCause(e).log("channel.notice.failed");
            } finally {
                telling.remove(due.number());
            }
        });
        if (telling.putIfAbsent(due.number(), thread) == null) {
            thread.start();
        }
    }

    private void tell(Channel channel, Due due) throws InterruptedException {
        try {
            channel.notice(
                    due.place().place(),
                    due.text(),
                    due.files(),
                    new Shelf(parts.artifacts(), due.place().key()));
            done(due);
        } catch (ChannelException e) {
            failed(channel, due, e, e.lasting(), e.retryAfter().orElse(Duration.ZERO));
        } catch (SandboxException e) {
            // A file that is not there any more does not come back.
            failed(channel, due, e, e.code() == ErrorCode.NOT_FOUND, Duration.ZERO);
        }
    }

    private void failed(Channel channel, Due due, RuntimeException e, boolean lasting, Duration asked) {
        boolean over = lasting || due.since().plus(parts.config().patience()).isBefore(Instant.now());
        LOG.atWarn()
                .addKeyValue("channel", channel.name())
                .addKeyValue("error", e.getMessage())
                .log(over ? "channel.notice.given-up" : "channel.notice.retried");
        if (over) {
            done(due);
            return;
        }
        Duration pause = parts.config().retry(due.attempts());
        parts.database().query(handle -> {
            NoticeTable.later(handle, due.number(), asked.compareTo(pause) > 0 ? asked : pause);
            return due;
        });
    }

    private void done(Due due) {
        parts.database().query(handle -> {
            NoticeTable.told(handle, due.number());
            return due;
        });
    }

    /** Begins nothing more; what is being told is finished, unless it takes too long. */
    void halt(Duration patience) {
        stopped = true;
        long deadline = System.nanoTime() + patience.toNanos();
        for (Thread thread : telling.values()) {
            try {
                boolean _ = thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            thread.interrupt();
        }
    }
}

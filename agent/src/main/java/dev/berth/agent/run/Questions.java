package dev.berth.agent.run;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** Answers what the agent of a run asks: each question on a thread of its own, as a person may have to be asked. */
final class Questions {
    private final Office office;
    private final Run run;
    private final Map<String, Thread> open = new ConcurrentHashMap<>();
    private volatile boolean denying;

    Questions(Office office, Run run) {
        this.office = office;
        this.run = run;
    }

    void ask(Asked question, Session session, Seat seat, Scribe scribe) {
        Thread thread = Thread.ofVirtual()
                .name("question of " + run.id())
                .unstarted(() -> answer(question, session, seat, scribe));
        if (open.putIfAbsent(question.question(), thread) == null) {
            thread.start();
        }
    }

    private void answer(Asked question, Session session, Seat seat, Scribe scribe) {
        try {
            boolean allowed = decide(question, session);
            open.remove(question.question());
            seat.agent().decide(question.question(), allowed);
            scribe.answered(question.question());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // let go of: whoever goes on with the run asks again
        } catch (SandboxException e) {
            RunMeters.trouble("agent.decide.failed", run.session(), run.id(), e);
            scribe.answered(question.question());
        } finally {
            open.remove(question.question());
        }
    }

    private boolean decide(Asked question, Session session) throws InterruptedException {
        try {
            if (denying) {
                return false;
            }
            return question.tool().equals(AgentEvent.SHOW_FILE)
                    ? show(question, session)
                    : office.permissions().ask(run.session(), run.id(), run.actor(), question);
        } catch (InterruptedException e) {
            if (denying) {
                return false;
            }
            throw e;
        } catch (RuntimeException e) {
            RunMeters.trouble("agent.question.failed", run.session(), run.id(), e);
            return false;
        }
    }

    private boolean show(Asked question, Session session) {
        String path = Objects.toString(question.arguments().get("path"), "");
        String title = Objects.toString(question.arguments().get("title"), "");
        office.artifacts().show(session, path, LogText.head(title, LogText.TITLE), run.actor(), run.id());
        return true;
    }

    /** Says no to everything that is asked now and later. */
    void deny() {
        denying = true;
        open.values().forEach(Thread::interrupt);
    }

    /** Leaves everything unanswered. */
    void cancel() {
        open.values().forEach(Thread::interrupt);
    }
}

package dev.berth.channel;

import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.run.Run;
import dev.berth.agent.run.RunEvent;
import dev.berth.channel.Board.Card;
import dev.berth.channel.Board.Card.Decision;
import dev.berth.channel.Board.End;
import dev.berth.channel.Board.Shown;
import dev.berth.channel.Board.Step;
import dev.berth.channel.Board.Step.State;
import dev.berth.session.LoggedEvent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Makes the board of one run out of the events of its session. For one thread. */
final class BoardBuilder {
    static final String STARTING = "Getting the computer ready…";
    static final String THINKING = "Thinking…";

    private static final int STEPS = 40;
    private static final int TITLE = 120;
    private static final int OUTPUT = 260;
    private static final int DETAIL = 2000;
    private static final int TEXT = 200_000;
    private static final int FILES = 200;
    private static final int CARDS = 50;
    private static final String CUT =
            "\n\n*The rest of this answer is too long to be shown here; ask for it as a file.*";

    private static final String NOTHING_SAID = "The agent ended without an answer. Ask again, perhaps in other words.";

    private final String run;
    private final Person requester;
    private final StringBuilder text = new StringBuilder();
    private final Map<String, Step> steps = new LinkedHashMap<>();
    private final Map<String, Card> cards = new LinkedHashMap<>();
    private final Map<String, Shown> files = new LinkedHashMap<>();
    private String status = STARTING;
    private int earlierSteps;
    /** Whether the next text is another piece, as something was done since the last one. */
    private boolean apart;

    private boolean full;
    private Optional<End> end = Optional.empty();
    private boolean changed = true;

    BoardBuilder(String run, Person requester) {
        this.run = run;
        this.requester = requester;
    }

    /** Whether there is something that was not {@linkplain #board taken} yet. */
    boolean changed() {
        return changed;
    }

    boolean ended() {
        return end.isPresent();
    }

    Board board() {
        changed = false;
        return new Board(
                run,
                requester,
                status,
                text.toString(),
                List.copyOf(steps.values()),
                earlierSteps,
                List.copyOf(cards.values()),
                List.copyOf(files.values()),
                end);
    }

    /** What was taken has not been shown. */
    void again() {
        changed = true;
    }

    void add(LoggedEvent logged) {
        RunEvent.of(logged)
                .filter(event -> event.run().equals(run) && end.isEmpty())
                .ifPresent(event -> add(event, logged));
    }

    private void add(RunEvent event, LoggedEvent logged) {
        switch (event) {
            case RunEvent.Began _ -> {
                apart = true;
                say(THINKING);
            }
            case RunEvent.Status e -> say(e.text().isBlank() ? idle() : Plain.line(e.text(), TITLE));
            case RunEvent.Steered _, RunEvent.Thought _ -> say(idle());
            case RunEvent.Used _ -> {}
            case RunEvent.Text e -> write(e.text());
            case RunEvent.ToolStarted e -> start(e);
            case RunEvent.ToolUpdated e -> step(e.call(), State.RUNNING, e.output());
            case RunEvent.ToolEnded e -> {
                step(e.call(), e.ok() ? State.DONE : State.FAILED, e.output());
                say(idle());
            }
            case RunEvent.Shown e -> show(e);
            case RunEvent.Approval e -> card(e, logged);
            case RunEvent.Ended e -> end(e.outcome(), e.error());
        }
    }

    private void say(String what) {
        changed |= !status.equals(what);
        status = what;
    }

    /** What it is busy with as far as can be seen. */
    private String idle() {
        if (cards.values().stream().anyMatch(card -> card.state() == Decision.REQUESTED)) {
            return "Waiting for somebody to allow this…";
        }
        return steps.values().stream().anyMatch(step -> step.state() == State.RUNNING) ? "" : THINKING;
    }

    private void write(String piece) {
        if (piece.isEmpty() || full) {
            return;
        }
        if (apart && !text.isEmpty()) {
            text.append(text.charAt(text.length() - 1) == '\n' ? "\n" : "\n\n");
        }
        apart = false;
        text.append(piece);
        if (text.length() > TEXT) {
            text.setLength(Character.isHighSurrogate(text.charAt(TEXT - 1)) ? TEXT - 1 : TEXT);
            text.append(CUT);
            full = true;
        }
        status = "";
        changed = true;
    }

    private void start(RunEvent.ToolStarted event) {
        apart = true;
        String title = Plain.line(event.title().isBlank() ? event.tool() : event.title(), TITLE);
        steps.put(event.call(), new Step(event.call(), title, State.RUNNING, ""));
        if (steps.size() > STEPS) {
            steps.remove(steps.keySet().iterator().next());
            earlierSteps++;
        }
        status = "";
        changed = true;
    }

    private void step(String call, State state, String output) {
        Step now = steps.computeIfPresent(
                call, (_, step) -> new Step(call, step.title(), state, Plain.tail(output.strip(), OUTPUT)));
        changed |= now != null;
    }

    private void show(RunEvent.Shown event) {
        if (files.size() < FILES) {
            String title = event.title().isBlank() ? event.name() : event.title();
            files.put(
                    event.artifact(), new Shown(event.artifact(), event.name(), title, event.mimeType(), event.size()));
            changed = true;
        }
    }

    private void card(RunEvent.Approval event, LoggedEvent logged) {
        Card before = cards.get(event.approval());
        if (before == null && cards.size() >= CARDS) {
            return;
        }
        Decision state = Decision.valueOf(event.state().toUpperCase(Locale.ROOT));
        String title = event.title().isBlank() ? event.tool() : event.title();
        String detail = logged.data().get("detail") instanceof String given ? given : event.title();
        // What was asked is told by the first event; those that follow may say less.
        Card card = before == null
                ? new Card(
                        event.approval(),
                        event.tool(),
                        Plain.line(title, TITLE),
                        Plain.head(detail, DETAIL),
                        state,
                        decidedBy(event, state))
                : new Card(
                        before.approval(),
                        before.tool(),
                        before.title(),
                        before.detail(),
                        state,
                        decidedBy(event, state));
        cards.put(event.approval(), card);
        changed = true;
        say(idle());
    }

    private static Optional<String> decidedBy(RunEvent.Approval event, Decision state) {
        return state == Decision.APPROVED || state == Decision.DENIED ? event.decidedBy() : Optional.empty();
    }

    // ---- the end -------------------------------------------------------------------------------------------------

    /** Ends it by what its row says, for a run whose last event did not get into the log. */
    void endAs(Run ended) {
        if (text.isEmpty()) {
            write(ended.answer());
        }
        Outcome outcome = switch (ended.state()) {
            case DONE -> Outcome.DONE;
            case ABORTED -> Outcome.ABORTED;
            case FAILED -> Outcome.FAILED;
            case STARTING, RUNNING -> throw new IllegalStateException("run " + run + " goes on");
        };
        end(outcome, ended.error());
    }

    /** Ends it because nobody knows of it any more. */
    void endLost() {
        end(Outcome.FAILED, Optional.of("nothing is known of it any more"));
    }

    private void end(Outcome outcome, Optional<String> error) {
        status = "";
        changed = true;
        for (Step step : new ArrayList<>(steps.values())) {
            if (step.state() == State.RUNNING) {
                State state = outcome == Outcome.DONE ? State.DONE : State.FAILED;
                steps.put(step.call(), new Step(step.call(), step.title(), state, step.output()));
            }
        }
        cards.replaceAll((_, card) -> card.state() == Decision.REQUESTED
                ? new Card(
                        card.approval(), card.tool(), card.title(), card.detail(), Decision.EXPIRED, Optional.empty())
                : card);
        end = Optional.of(
                switch (outcome) {
                    case DONE -> new End(true, silent() ? Optional.of(NOTHING_SAID) : Optional.empty());
                    case ABORTED -> new End(false, Optional.of("Stopped. What was done so far is kept."));
                    case FAILED -> new End(false, Optional.of(failure(error.orElse("it does not say why"))));
                });
    }

    private boolean silent() {
        return text.isEmpty() && steps.isEmpty() && files.isEmpty();
    }

    /** What to do depends on how far it came. */
    private String failure(String error) {
        String why = sentence(error);
        if (!text.isEmpty()) {
            return "The answer ends here, because something went wrong: " + why + " Say “go on” to hear the rest.";
        }
        if (!steps.isEmpty()) {
            int done = earlierSteps + steps.size();
            return "This went wrong after " + (done == 1 ? "one step: " : done + " steps: ") + why
                    + " What was done so far is kept. Say “go on” to have it continued, or ask for something else.";
        }
        return "This could not be begun: " + why + " Nothing was done. Send the message again to have it tried again.";
    }

    /** What is said of a message that no run came of. */
    static Board refused(String run, Person requester, String error) {
        return new Board(
                run,
                requester,
                "",
                "",
                List.of(),
                0,
                List.of(),
                List.of(),
                Optional.of(new End(
                        false,
                        Optional.of("This message was not taken: " + sentence(error)
                                + " Nothing was done; once that is mended, send it again."))));
    }

    private static String sentence(String error) {
        String line = Plain.line(error, 500);
        return line.endsWith(".") || line.endsWith("…") || line.endsWith("!") || line.endsWith("?") ? line : line + ".";
    }
}

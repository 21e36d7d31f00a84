package dev.berth.sandbox;

import java.time.Duration;

/** What a build of a template tells while it works, so that somebody can watch. */
public sealed interface BuildEvent {
    /**
     * Detail of a {@link SandboxException} of a build: the number of the step that failed, {@link #BASE} for what it
     * begins with, or {@link #FINISH} for what comes after the last step.
     */
    String STEP = "step";

    String BASE = "base";
    String FINISH = "finalize";

    /** Another build has to end first. */
    record Waiting() implements BuildEvent {}

    /** The template begins with another one that is not there yet, so that is built first. */
    record Needed(String template) implements BuildEvent {}

    /** A step begins. Steps are counted from 1. */
    record StepStarted(int number, int total, String text) implements BuildEvent {}

    /** The step at work wrote a line. */
    record StepOutput(int number, int total, String line) implements BuildEvent {}

    /** A step is done; one that was cached took no work. */
    record StepFinished(int number, int total, String text, boolean cached, Duration took) implements BuildEvent {}

    /** The template is there. It is unchanged when nothing had to be built and it was there before. */
    record Published(TemplateInfo template, boolean unchanged) implements BuildEvent {}
}

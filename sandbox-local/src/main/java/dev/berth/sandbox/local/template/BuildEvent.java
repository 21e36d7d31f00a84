package dev.berth.sandbox.local.template;

import java.time.Duration;

/** What a build tells while it works, so that somebody can watch. */
public sealed interface BuildEvent {
    /** Another build in the same templates directory has to end first. */
    record Waiting() implements BuildEvent {}

    /** The template begins with another one that ships with Berth and is not there yet, so that is built first. */
    record Needed(String template) implements BuildEvent {}

    /** A step begins. Steps are counted from 1. */
    record StepStarted(int number, int total, String text) implements BuildEvent {}

    /** The step at work wrote a line. */
    record StepOutput(int number, int total, String line) implements BuildEvent {}

    /** A step is done; one that was cached took no work. */
    record StepFinished(int number, int total, String text, boolean cached, Duration took) implements BuildEvent {}

    /** The template is there. It is unchanged when nothing had to be built and it was there before. */
    record Published(Template template, boolean unchanged) implements BuildEvent {}
}

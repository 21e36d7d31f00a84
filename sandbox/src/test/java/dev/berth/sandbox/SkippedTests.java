package dev.berth.sandbox;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** Prints each test that was skipped, with its reason, so that no skip goes unseen. */
public final class SkippedTests implements TestWatcher {
    @Override
    @SuppressWarnings("SystemOut") // Maven shows it between its own lines
    public void testAborted(ExtensionContext context, @Nullable Throwable reason) {
        System.out.println("SKIPPED " + context.getRequiredTestClass().getSimpleName() + "." + context.getDisplayName()
                + ": " + (reason == null ? "no reason given" : reason.getMessage()));
    }
}

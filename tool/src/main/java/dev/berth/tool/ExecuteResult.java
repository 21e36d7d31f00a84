package dev.berth.tool;

import dev.berth.sandbox.Change;
import java.util.List;
import java.util.Optional;

/**
 * How code ended.
 *
 * @param run what it printed, and its exit code: 0, 1 if it threw, or what it exited with
 * @param result the value of the last expression as its language shows it; none in bash
 * @param restarted whether the state of earlier calls was lost before this one, which began with nothing
 * @param stateLost whether this call ended the interpreter, so that the next one begins with nothing
 */
public record ExecuteResult(RunResult run, Optional<String> result, boolean restarted, boolean stateLost) {
    ExecuteResult withChanges(List<Change> found) {
        return new ExecuteResult(run.withChanges(found), result, restarted, stateLost);
    }
}

package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Where a session is in its life, and where it may go from there. */
public enum SessionState {
    /** Its sandbox is being made. */
    CREATING,
    /** Its sandbox runs. */
    ACTIVE,
    /** Its processes are being frozen. */
    PAUSING,
    /** Its processes are frozen; memory and files are kept. */
    PAUSED,
    /** Its sandbox is being started again, or unpacked. */
    RESUMING,
    /** It has no processes; files are kept. */
    STOPPED,
    /** Its files are packed away; it has no sandbox. */
    ARCHIVED,
    /** Its sandbox is being removed. */
    DELETING,
    /** It has neither sandbox nor files. The next message makes it anew. */
    DESTROYED,
    /** The last attempt to bring it up failed; nothing was given up, the next message tries again. */
    ERROR;

    /** The one transition table. {@code docs/sessions.md} draws it. */
    private static final Map<SessionState, Set<SessionState>> NEXT = Map.of(
            CREATING, EnumSet.of(ACTIVE, RESUMING, ERROR, DELETING, DESTROYED),
            ACTIVE, EnumSet.of(PAUSING, STOPPED, RESUMING, CREATING, DELETING, ERROR),
            PAUSING, EnumSet.of(PAUSED, ACTIVE, RESUMING, CREATING, STOPPED, DELETING, ERROR),
            PAUSED, EnumSet.of(ACTIVE, RESUMING, CREATING, STOPPED, DELETING, ERROR),
            RESUMING, EnumSet.of(ACTIVE, PAUSED, STOPPED, ARCHIVED, CREATING, DELETING, ERROR),
            STOPPED, EnumSet.of(ACTIVE, RESUMING, CREATING, ARCHIVED, DELETING, ERROR),
            ARCHIVED, EnumSet.of(ACTIVE, RESUMING, DELETING, ERROR),
            DELETING, EnumSet.of(DESTROYED, ERROR),
            DESTROYED, EnumSet.of(CREATING),
            ERROR, EnumSet.of(ACTIVE, RESUMING, CREATING, STOPPED, ARCHIVED, DELETING));

    /** In these a sandbox runs or is about to; they count against a tenant's limits. */
    static final Set<SessionState> LIVE = EnumSet.of(CREATING, ACTIVE, PAUSING, RESUMING);
    /** In these somebody is at work; if nobody is, a server died there. */
    static final Set<SessionState> PASSING = EnumSet.of(CREATING, PAUSING, RESUMING, DELETING);

    public Set<SessionState> next() {
        return Set.copyOf(NEXT.getOrDefault(this, Set.of()));
    }

    void checkNext(SessionState next) {
        if (next != this && !next().contains(next)) {
            throw SandboxException.conflict("a session cannot go from " + this + " to " + next);
        }
    }

    public static SessionState parse(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }

    /** For {@code IN (…)} in SQL. */
    static String names(Set<SessionState> states) {
        return states.stream().map(state -> "'" + state + "'").collect(Collectors.joining(", "));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}

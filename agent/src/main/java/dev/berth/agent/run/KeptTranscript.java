package dev.berth.agent.run;

import dev.berth.agent.Agent;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.util.Arrays;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The copy of what an agent writes down of its conversation, which outlives the sandbox. */
final class KeptTranscript {
    private static final Logger LOG = LoggerFactory.getLogger(KeptTranscript.class);
    /** What is longer is kept as far as this; it has to fit into memory to be given back. */
    private static final long LONGEST = 256L << 20;

    private final Database database;
    private final SessionKey key;

    KeptTranscript(Database database, SessionKey key) {
        this.database = database;
        this.key = key;
    }

    /** Adds what was written since the last time, whoever copied then. */
    void follow(Agent agent) {
        long size = database.query(handle -> PlaceTable.transcriptSize(handle, key));
        for (byte[] more = agent.transcript(size); more.length > 0; more = agent.transcript(size)) {
            if (size + more.length > LONGEST) {
                LOG.atWarn()
                        .addKeyValue("tenant", key.tenant())
                        .addKeyValue("session", key.id())
                        .log("agent.transcript.too_long");
                return;
            }
            byte[] piece = more;
            long from = size;
            database.query(handle -> PlaceTable.addTranscript(handle, key, from, piece));
            size += piece.length;
        }
    }

    /** Begins anew if the agent that was just started goes on from another conversation: files may have been put back. */
    void compare(Agent agent) {
        if (agent.transcript(0).length == 0) {
            return; // it has nothing better
        }
        byte[] kept = database.query(handle -> PlaceTable.transcript(handle, key));
        long at = 0;
        boolean same = true;
        while (same && at < kept.length) {
            byte[] piece = agent.transcript(at);
            int length = (int) Math.min(piece.length, kept.length - at);
            same = length > 0 && Arrays.equals(piece, 0, length, kept, (int) at, (int) at + length);
            at += length;
        }
        if (!same) {
            database.query(handle -> PlaceTable.forgetTranscript(handle, key));
        }
        follow(agent);
    }
}

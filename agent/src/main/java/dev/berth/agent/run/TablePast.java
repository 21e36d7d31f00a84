package dev.berth.agent.run;

import dev.berth.agent.Past;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What came before in a session, read when it is asked for.
 *
 * @param run the run that goes on, which is not past
 * @param conversation the agent's own name for it
 * @param sameRuntime whether the transcript is of the runtime that asks
 */
record TablePast(Database database, SessionKey key, String run, Optional<String> conversation, boolean sameRuntime)
        implements Past {
    private static final int MOST_SAID = 200;
    private static final int MOST_CHARACTERS = 256 << 10;

    @Override
    public Optional<byte[]> transcript() {
        return sameRuntime
                ? Optional.of(database.query(handle -> PlaceTable.transcript(handle, key)))
                        .filter(bytes -> bytes.length > 0)
                : Optional.empty();
    }

    @Override
    public List<Said> said() {
        List<Said> all = database.query(handle -> RunTable.said(handle, key, run, MOST_SAID));
        List<Said> latest = new ArrayList<>();
        int characters = 0;
        for (Said said : all.reversed()) {
            characters += said.text().length();
            if (characters > MOST_CHARACTERS) {
                break;
            }
            latest.add(said);
        }
        return latest.reversed();
    }
}

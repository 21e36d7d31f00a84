package dev.berth.channel;

import dev.berth.agent.run.Message;
import dev.berth.agent.run.Run;
import dev.berth.agent.run.Runs;
import dev.berth.session.SessionKey;
import java.util.List;
import java.util.Optional;

/** What conversations want of the agents of sessions. */
interface Agents {
    Run say(SessionKey key, Message message);

    boolean abort(SessionKey key, String actor);

    void reset(SessionKey key, String actor);

    Optional<Run> current(SessionKey key);

    Optional<Run> find(String run);

    /** The newest first. */
    List<Run> last(SessionKey key, int limit);

    static Agents of(Runs runs) {
        return new Agents() {
            @Override
            public Run say(SessionKey key, Message message) {
                return runs.say(key, message);
            }

            @Override
            public boolean abort(SessionKey key, String actor) {
                return runs.abort(key, actor);
            }

            @Override
            public void reset(SessionKey key, String actor) {
                runs.reset(key, actor);
            }

            @Override
            public Optional<Run> current(SessionKey key) {
                return runs.current(key);
            }

            @Override
            public Optional<Run> find(String run) {
                return runs.find(run);
            }

            @Override
            public List<Run> last(SessionKey key, int limit) {
                return runs.list(key, Optional.empty(), limit);
            }
        };
    }
}

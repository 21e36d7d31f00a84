package dev.berth.session;

import dev.berth.sandbox.Sandbox;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a session's computer is given so that programs in it find their way out. */
public interface Equipment {
    /** For sessions whose network is all there is to it. */
    Equipment NONE = new Equipment() {
        @Override
        public Map<String, String> env(SessionInfo session, @Nullable Sandbox sandbox) {
            return Map.of();
        }

        @Override
        public void install(SessionInfo session, Sandbox sandbox) {}

        @Override
        public void changed(Sandbox sandbox) {}
    };

    /**
     * Variables for its commands, beneath its own. Nothing secret: everybody inside reads them.
     *
     * @param sandbox what they are for; null if it is about to be made with them
     */
    Map<String, String> env(SessionInfo session, @Nullable Sandbox sandbox);

    /** Puts files in place. This is called whenever it was brought up with a network, and when its network changed. */
    void install(SessionInfo session, Sandbox sandbox);

    /** Called when what a sandbox may reach is another than it was. */
    void changed(Sandbox sandbox);
}

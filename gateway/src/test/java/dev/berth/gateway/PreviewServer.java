package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.RunningCommand;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;

/** A server in a session that shows what it was asked, and answers in many ways; see preview_server.py. */
public final class PreviewServer {
    private PreviewServer() {}

    /** Returns when it listens, on port 8000 and some others. */
    public static void start(TestingBerth berth, SessionKey key) throws IOException {
        try (InputStream script = PreviewServer.class.getResourceAsStream("preview_server.py");
                Session session = berth.sessions().resolve(key)) {
            session.sandbox().files().write("preview_server.py", script);
            listen(session, Command.of("python3", "preview_server.py"), "ready");
        }
    }

    /** @param sign what its first line has in it when it listens */
    public static void listen(Session session, Command command, String sign) throws IOException {
        try (RunningCommand server = session.sandbox().start(command)) {
            BufferedReader said = new BufferedReader(new InputStreamReader(server.stdout(), UTF_8));
            assertThat(said.readLine()).contains(sign);
        }
    }
}

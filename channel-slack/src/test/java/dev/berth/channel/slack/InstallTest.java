package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.channel.ChannelException;
import dev.berth.channel.Place;
import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several workspaces, by OAuth. */
final class InstallTest {
    /** Seals by turning a text around, which is enough to see that it was sealed. */
    private static final class Reversed implements Seal {
        @Override
        public byte[] seal(String place, String text) {
            return new StringBuilder(place + " " + text).reverse().toString().getBytes(UTF_8);
        }

        @Override
        public String open(String place, byte[] sealed) {
            String text = new StringBuilder(new String(sealed, UTF_8)).reverse().toString();
            assertThat(text).startsWith(place + " ");
            return text.substring(place.length() + 1);
        }
    }

    private final TestingDatabase postgres = TestingDatabase.create();
    private final Database database = Database.open(DatabaseConfig.parse(postgres.url()));
    private final FakeSlack slack = new FakeSlack();
    private final ScriptedInbox inbox = new ScriptedInbox(slack);
    private final SlackChannel channel = new SlackChannel(
            SlackConfig.http(
                            FakeSlack.SIGNING_SECRET,
                            Optional.empty(),
                            Optional.of(new SlackConfig.OAuth(
                                    FakeSlack.CLIENT_ID,
                                    FakeSlack.CLIENT_SECRET,
                                    URI.create("https://berth.example/channels/slack/callback"),
                                    Set.of("T2", "T3"))))
                    .at(slack.api()),
            Optional.of(new Installations(database, new Reversed())));
    private SlackHttp http;

    @BeforeEach
    void listen() {
        channel.listen(inbox);
        http = channel.http();
        slack.sendTo((headers, body) ->
                handle("POST", "events", Map.of(), headers, body).status());
    }

    @AfterEach
    void close() {
        channel.close();
        slack.close();
        database.close();
        postgres.close();
    }

    private SlackHttp.Answer handle(
            String method, String page, Map<String, String> query, Map<String, List<String>> headers, byte[] body) {
        try {
            return http.handle(method, page, query, headers, body);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private SlackHttp.Answer install(String code) {
        SlackHttp.Answer begun = handle("GET", "install", Map.of(), Map.of(), new byte[0]);
        assertThat(begun.status()).isEqualTo(302);
        String location = begun.headers().getOrDefault("Location", "");
        assertThat(location)
                .startsWith("https://slack.com/oauth/v2/authorize?")
                .contains("client_id=" + FakeSlack.CLIENT_ID)
                .doesNotContain(FakeSlack.CLIENT_SECRET);
        String cookie = begun.headers().getOrDefault("Set-Cookie", "");
        assertThat(cookie).contains("HttpOnly").contains("Secure").contains("SameSite=Lax");
        String state = cookie.substring(cookie.indexOf('=') + 1, cookie.indexOf(';'));
        assertThat(location).contains("state=" + state);
        return handle(
                "GET",
                "callback",
                Map.of("code", code, "state", state),
                Map.of("cookie", List.of("other=1; " + cookie.substring(0, cookie.indexOf(';')))),
                new byte[0]);
    }

    @Test
    void everyWorkspaceThatInstallsItIsServedWithItsOwnToken() throws Exception {
        SlackHttp.Answer page = install(slack.installs("T2", "xoxb-two"));
        assertThat(page.status()).isEqualTo(200);
        assertThat(page.body()).contains("Team &lt;T2&gt;").doesNotContain("xoxb");
        assertThat(install(slack.installs("T3", "xoxb-three")).status()).isEqualTo(200);

        slack.mentionsIn("T2", "U1", "C1", "<@" + FakeSlack.BOT + "> hello");
        assertThat(inbox.awaitMessage(1).place().workspace()).isEqualTo("T2");
        channel.notice(new Place("slack", "T3", "C9", ""), "hi", List.of(), _ -> {
            throw new AssertionError("there are no files");
        });
        assertThat(slack.channel("C9")).hasSize(1);
        assertThat(slack.calls("auth.test")).isZero();
    }

    @Test
    void tokensAreSealedInTheDatabase() {
        install(slack.installs("T2", "xoxb-two"));
        String row = database.query(handle -> handle.createQuery(
                        "SELECT convert_from(token_sealed, 'UTF8') || ' ' || team_name FROM slack_installations")
                .mapTo(String.class)
                .one());
        assertThat(row).doesNotContain("xoxb-two").contains("owt-bxox");
    }

    @Test
    void installingAgainTakesTheNewToken() throws Exception {
        install(slack.installs("T2", "xoxb-wrong-by-now"));
        install(slack.installs("T2", "xoxb-new"));
        assertThat(new Installations(database, new Reversed())
                        .find("T2")
                        .orElseThrow()
                        .token())
                .isEqualTo("xoxb-new");
    }

    @Test
    void aBrowserThatDidNotBeginCannotInstall() {
        String code = slack.installs("T2", "xoxb-two");
        SlackHttp.Answer strange = handle(
                "GET",
                "callback",
                Map.of("code", code, "state", "mine"),
                Map.of("Cookie", List.of("berth_slack_state=yours")),
                new byte[0]);
        assertThat(strange.status()).isEqualTo(400);
        assertThat(handle("GET", "callback", Map.of("code", code), Map.of(), new byte[0])
                        .status())
                .isEqualTo(400);
        assertThat(slack.calls("oauth.v2.access")).isZero();
    }

    @Test
    void aWorkspaceThatMayNotIsRefused() {
        assertThat(install(slack.installs("T4", "xoxb-four")).status()).isEqualTo(403);
        assertThat(new Installations(database, new Reversed()).find("T4")).isEmpty();
        assertThat(install("no-such-code").status()).isEqualTo(502);
    }

    @Test
    void aWorkspaceThatRemovesItIsForgotten() {
        install(slack.installs("T2", "xoxb-two"));
        slack.uninstalls("T2");
        slack.await(() -> new Installations(database, new Reversed()).find("T2"), Optional::isEmpty);
        assertThatThrownBy(() -> channel.notice(new Place("slack", "T2", "C9", ""), "hi", List.of(), _ -> {
                    throw new AssertionError("there are no files");
                }))
                .isInstanceOf(ChannelException.class)
                .hasMessageContaining("install it");
    }
}

package dev.berth.cli;

import dev.berth.channel.slack.Installations;
import dev.berth.channel.slack.Seal;
import dev.berth.channel.slack.SlackChannel;
import dev.berth.channel.slack.SlackConfig;
import dev.berth.channel.slack.SlackHttp;
import dev.berth.gateway.Gateway;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.http.Answer;
import dev.berth.session.store.Database;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Slack, as a part of the server. */
final class SlackBot {
    /** The tokens of workspaces that installed the app. */
    static final SealedColumn SEALED = new SealedColumn(
            "slack_installations", List.of("team"), "token_sealed", key -> Installations.place(key.getFirst()));

    private SlackBot() {}

    static SlackChannel start(SlackConfig config, Gateway gateway, Database database) {
        SlackChannel slack = new SlackChannel(config, Optional.of(new Installations(database, seal(gateway.sealer()))));
        slack.listen(gateway.talk().inbox());
        SlackHttp http = slack.http();
        gateway.talk().add(slack, knock -> {
            SlackHttp.Answer answer =
                    http.handle(knock.method(), knock.page(), knock.query(), knock.headers(), knock.body());
            Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            headers.putAll(answer.headers());
            String type = Optional.ofNullable(headers.remove("Content-Type")).orElse("text/plain");
            return new Answer.Raw(answer.status(), type, answer.body(), headers);
        });
        return slack;
    }

    private static Seal seal(Sealer sealer) {
        return new Seal() {
            @Override
            public byte[] seal(String place, String text) {
                return sealer.seal(place, text);
            }

            @Override
            public String open(String place, byte[] sealed) {
                return sealer.open(place, sealed);
            }
        };
    }
}

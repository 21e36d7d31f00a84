package dev.berth.channel.slack;

import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * A Slack app, and how its events come in.
 *
 * @param botToken of the one workspace it is in; empty if workspaces install it by OAuth
 * @param appToken the app-level token, for {@link Mode#SOCKET}
 * @param signingSecret by which Slack signs requests, for {@link Mode#HTTP}
 * @param api what the names of Slack's methods are appended to
 * @param pace how long a message stays as it is before it is changed again
 */
public record SlackConfig(
        Mode mode,
        Optional<String> botToken,
        Optional<String> appToken,
        Optional<String> signingSecret,
        Optional<OAuth> oauth,
        URI api,
        Duration pace) {
    private static final URI SLACK = URI.create("https://slack.com/api/");
    private static final Duration PACE = Duration.ofSeconds(1);

    /** Who calls whom. */
    public enum Mode {
        /** This server connects to Slack, so it needs no address that Slack can reach. */
        SOCKET,
        /** Slack sends requests to this server. */
        HTTP
    }

    /**
     * For more than one workspace.
     *
     * @param redirect the address of the callback page, as the app's settings at Slack have it
     * @param authorize Slack's page that asks for consent
     * @param workspaces ids of those that may install it; empty for all
     */
    public record OAuth(String clientId, String clientSecret, URI redirect, URI authorize, Set<String> workspaces) {
        private static final URI AUTHORIZE = URI.create("https://slack.com/oauth/v2/authorize");

        public OAuth {
            workspaces = Set.copyOf(workspaces);
        }

        public OAuth(String clientId, String clientSecret, URI redirect, Set<String> workspaces) {
            this(clientId, clientSecret, redirect, AUTHORIZE, workspaces);
        }

        @Override
        public String toString() {
            return "OAuth[" + clientId + "]";
        }
    }

    public SlackConfig {
        botToken.ifPresent(token -> require(token.startsWith("xoxb-"), "the bot token of Slack begins with xoxb-"));
        appToken.ifPresent(
                token -> require(token.startsWith("xapp-"), "the app-level token of Slack begins with xapp-"));
        require(
                mode != Mode.SOCKET || appToken.isPresent(),
                "Socket Mode needs an app-level token (xapp-…) with connections:write; make one under Basic Information");
        require(
                mode != Mode.HTTP
                        || signingSecret.filter(secret -> !secret.isBlank()).isPresent(),
                "events over HTTP need the signing secret of the Slack app; it is under Basic Information");
        require(
                botToken.isPresent() || oauth.isPresent(),
                "Slack needs a bot token (xoxb-…), or a client id and secret for installations by OAuth");
    }

    private static void require(boolean given, String otherwise) {
        if (!given) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    public static SlackConfig socket(String appToken, Optional<String> botToken, Optional<OAuth> oauth) {
        return new SlackConfig(Mode.SOCKET, botToken, Optional.of(appToken), Optional.empty(), oauth, SLACK, PACE);
    }

    public static SlackConfig http(String signingSecret, Optional<String> botToken, Optional<OAuth> oauth) {
        return new SlackConfig(Mode.HTTP, botToken, Optional.empty(), Optional.of(signingSecret), oauth, SLACK, PACE);
    }

    /** The same at another address, such as a test server's. It ends with a slash. */
    public SlackConfig at(URI api) {
        return new SlackConfig(mode, botToken, appToken, signingSecret, oauth, api, pace);
    }

    public SlackConfig pace(Duration pace) {
        return new SlackConfig(mode, botToken, appToken, signingSecret, oauth, api, pace);
    }

    @Override
    public String toString() {
        return "SlackConfig[" + mode + " " + api + "]";
    }
}

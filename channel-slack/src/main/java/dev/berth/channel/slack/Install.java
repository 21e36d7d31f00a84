package dev.berth.channel.slack;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.channel.ChannelException;
import java.net.URLEncoder;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Map;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/** The two pages by which somebody installs the app in a workspace. */
final class Install {
    static final String SCOPES = "app_mentions:read,assistant:write,channels:history,chat:write,commands,files:read,"
            + "files:write,groups:history,im:history,im:write,mpim:history,users:read";

    private static final Logger LOG = LoggerFactory.getLogger(Install.class);
    private static final String COOKIE = "berth_slack_state";

    private final SlackConfig.OAuth oauth;
    private final SlackApi api;
    private final Installations installations;
    private final Workspaces workspaces;
    private final SecureRandom random = new SecureRandom();

    Install(SlackConfig.OAuth oauth, SlackApi api, Installations installations, Workspaces workspaces) {
        this.oauth = oauth;
        this.api = api;
        this.installations = installations;
        this.workspaces = workspaces;
    }

    /** Sends the browser to Slack, with a state that only this browser can bring back. */
    SlackHttp.Answer begin() {
        byte[] bytes = new byte[32];
        random.nextBytes(bytes);
        String state = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        Map<String, String> query = Map.of(
                "client_id",
                oauth.clientId(),
                "scope",
                SCOPES,
                "redirect_uri",
                oauth.redirect().toString(),
                "state",
                state);
        String address = oauth.authorize() + "?"
                + query.entrySet().stream()
                        .map(entry -> entry.getKey() + "=" + URLEncoder.encode(entry.getValue(), UTF_8))
                        .collect(Collectors.joining("&"));
        return new SlackHttp.Answer(
                302, Map.of("Location", address, "Cache-Control", "no-store", "Set-Cookie", cookie(state, 600)), "");
    }

    private String cookie(String value, int seconds) {
        String secure = "https".equals(oauth.redirect().getScheme()) ? "; Secure" : "";
        return COOKIE + "=" + value + "; Path=/; Max-Age=" + seconds + "; HttpOnly; SameSite=Lax" + secure;
    }

    SlackHttp.Answer end(Map<String, String> query, String cookies) throws InterruptedException {
        String state = query.getOrDefault("state", "");
        if (state.isEmpty()
                || !MessageDigest.isEqual(state.getBytes(UTF_8), kept(cookies).getBytes(UTF_8))) {
            return SlackHttp.Answer.page(
                    400,
                    "Not installed",
                    "This page was not opened by the install page, or too late. Begin again there.");
        }
        if (query.containsKey("error")) {
            return SlackHttp.Answer.page(
                    400, "Not installed", "Slack says that it was not allowed. Begin again to install it.");
        }
        JsonNode answer;
        try {
            answer = exchange(query.getOrDefault("code", ""));
        } catch (ChannelException e) {
            LOG.warn("an installation at Slack did not work", e);
            return SlackHttp.Answer.page(502, "Not installed", "Slack did not complete the installation. Begin again.");
        }
        String team = answer.path("team").path("id").asString("");
        String token = answer.path("access_token").asString("");
        if (team.isEmpty() || token.isEmpty()) {
            return SlackHttp.Answer.page(
                    400,
                    "Not installed",
                    "Slack named no workspace. Install it in a workspace, not in an organisation.");
        }
        if (!oauth.workspaces().isEmpty() && !oauth.workspaces().contains(team)) {
            LOG.warn("the workspace {} is not among those that may install the app", team);
            return SlackHttp.Answer.page(
                    403,
                    "Not installed",
                    "This workspace may not use it. Ask whoever runs Berth to allow " + team + ".");
        }
        String name = answer.path("team").path("name").asString(team);
        installations.save(
                new Workspace(team, answer.path("bot_user_id").asString(""), token),
                name,
                answer.path("scope").asString(""),
                answer.path("authed_user").path("id").asString(""));
        workspaces.forget(team);
        LOG.info("installed in the workspace {}", team);
        return SlackHttp.Answer.page(
                200, "Installed", "Berth is in " + name + " now. Mention it in a channel of yours.");
    }

    private JsonNode exchange(String code) throws InterruptedException {
        String basic =
                Base64.getEncoder().encodeToString((oauth.clientId() + ":" + oauth.clientSecret()).getBytes(UTF_8));
        SlackApi.Answer answer = api.call(
                "",
                "Basic " + basic,
                "oauth.v2.access",
                Map.of("code", code, "redirect_uri", oauth.redirect().toString()));
        if (!answer.ok()) {
            throw SlackApi.failure("oauth.v2.access", answer.error());
        }
        return answer.body();
    }

    private static String kept(String cookies) {
        for (String cookie : cookies.split(";")) {
            String[] parts = cookie.strip().split("=", 2);
            if (parts.length == 2 && parts[0].equals(COOKIE)) {
                return parts[1];
            }
        }
        return "";
    }
}

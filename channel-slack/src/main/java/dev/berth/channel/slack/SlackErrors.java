package dev.berth.channel.slack;

import java.util.Map;
import java.util.Set;

/** What Slack's errors mean. */
final class SlackErrors {
    /** Asking again is of no use before somebody has changed something. */
    private static final Set<String> LASTING = Set.of(
            "channel_not_found",
            "is_archived",
            "not_in_channel",
            "token_revoked",
            "token_expired",
            "account_inactive",
            "invalid_auth",
            "not_authed",
            "missing_scope",
            "no_permission",
            "restricted_action",
            "restricted_action_thread_only_channel",
            "team_access_not_granted",
            "user_not_found",
            "user_disabled",
            "cannot_dm_bot",
            "messages_tab_disabled",
            "thread_not_found",
            "access_denied",
            "org_login_required",
            "ekm_access_denied");

    private static final Map<String, String> ADVICE = Map.of(
            "not_in_channel", "the bot is not in this channel; invite it there",
            "is_archived", "the channel is archived",
            "channel_not_found", "the channel does not exist, or the bot may not see it; invite it there",
            "token_revoked", "the app was removed from the workspace; install it again",
            "account_inactive", "the app was removed from the workspace; install it again",
            "invalid_auth", "the token is not valid; copy it again from the app's settings",
            "missing_scope", "the app lacks a scope; compare its settings with the manifest and install it again",
            "messages_tab_disabled", "the messages tab is off; turn it on under App Home");

    private SlackErrors() {}

    static boolean lasting(String error) {
        return LASTING.contains(error);
    }

    static String explain(String error) {
        String advice = ADVICE.get(error);
        return advice == null ? error : error + " (" + advice + ")";
    }
}

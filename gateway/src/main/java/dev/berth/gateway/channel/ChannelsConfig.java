package dev.berth.gateway.channel;

import dev.berth.channel.ConversationsConfig;
import dev.berth.channel.Rulebook;
import dev.berth.channel.Rules;
import dev.berth.channel.webhook.Hook;
import java.util.Map;

/**
 * Which channels there are, and who may use them.
 *
 * @param rules of every workspace
 * @param hooks chat systems that are attached by HTTP, by their names
 */
public record ChannelsConfig(ConversationsConfig conversations, Rulebook rules, Map<String, Hook> hooks) {
    public static final ChannelsConfig DEFAULT =
            new ChannelsConfig(ConversationsConfig.DEFAULT, (_, _) -> Rules.OPEN, Map.of());

    public ChannelsConfig {
        hooks = Map.copyOf(hooks);
    }
}

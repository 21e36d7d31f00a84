package dev.berth.gateway.channel;

import dev.berth.agent.run.Choices;
import dev.berth.agent.run.Runs;
import dev.berth.channel.Channel;
import dev.berth.channel.Channels;
import dev.berth.channel.Conversations;
import dev.berth.channel.Inbox;
import dev.berth.channel.webhook.WebhookChannel;
import dev.berth.gateway.approval.Approvals;
import dev.berth.gateway.http.Answer;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.job.Jobs;
import dev.berth.session.store.Database;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Everything by which people talk to agents: the conversations, the channels they happen in, and their doors. */
public final class Talk implements AutoCloseable {
    private final Channels channels;
    private final Conversations conversations;
    private final Doors doors;

    private Talk(Channels channels, Conversations conversations, Doors doors) {
        this.channels = channels;
        this.conversations = conversations;
        this.doors = doors;
    }

    public static Talk open(
            ChannelsConfig config,
            Approvals approvals,
            Runs runs,
            Choices choices,
            Sessions sessions,
            Artifacts artifacts,
            Jobs jobs,
            Database database,
            RandomGenerator random) {
        InstantSource clock = InstantSource.system();
        Channels channels = new Channels();
        Conversations conversations = Conversations.open(
                config.conversations(),
                config.rules(),
                channels,
                new ApprovalDesk(approvals),
                runs,
                choices,
                sessions,
                artifacts,
                jobs,
                database,
                clock,
                random);
        Talk talk = new Talk(channels, conversations, new Doors());
        if (!config.hooks().isEmpty()) {
            WebhookChannel hooks = new WebhookChannel(config.hooks(), conversations, database, clock, random);
            talk.add(hooks, knock -> {
                WebhookChannel.Reply reply = hooks.receive(knock.page(), signature(knock), knock.body());
                return new Answer.Raw(reply.status(), "application/json", reply.body(), Map.of());
            });
        }
        return talk;
    }

    private static String signature(Door.Knock knock) {
        return knock.headers().getOrDefault("Berth-Signature", List.of("")).getFirst();
    }

    /** What people do, to be told by channels. */
    public Inbox inbox() {
        return conversations;
    }

    /** Has a channel show what there is to see from now on, and its service call it. */
    public void add(Channel channel, Door door) {
        channels.add(channel);
        doors.open(channel.name(), door);
    }

    public Doors doors() {
        return doors;
    }

    @Override
    public void close() {
        conversations.close();
    }
}

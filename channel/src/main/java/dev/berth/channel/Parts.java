package dev.berth.channel;

import dev.berth.agent.run.Choices;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.job.Jobs;
import dev.berth.session.store.Database;

/**
 * What everything here is made of.
 *
 * @param server by which what this server does is told from what others do
 */
record Parts(
        ConversationsConfig config,
        Channels channels,
        Agents agents,
        Choices choices,
        Sessions sessions,
        Artifacts artifacts,
        Jobs jobs,
        Database database,
        String server) {}

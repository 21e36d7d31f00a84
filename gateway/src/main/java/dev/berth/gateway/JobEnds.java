package dev.berth.gateway;

import dev.berth.gateway.webhook.Webhooks;
import dev.berth.session.Session;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.job.Job;
import dev.berth.session.job.JobListener;
import java.util.Optional;
import org.jdbi.v3.core.Handle;

/** What happens when a job ends: the files it left become artifacts, and webhooks tell of it. */
record JobEnds(Artifacts artifacts, Webhooks webhooks) implements JobListener {
    @Override
    public void ending(Session session, Job job) {
        var _ = artifacts.collect(session, job.actor(), Optional.of(job.id()));
    }

    @Override
    public void ended(Handle handle, Job job) {
        webhooks.ended(handle, job);
    }

    @Override
    public void observed(Handle handle, Job job) {
        webhooks.observed(handle, job);
    }

    @Override
    public void written() {
        webhooks.written();
    }
}

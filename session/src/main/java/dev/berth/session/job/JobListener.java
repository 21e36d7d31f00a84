package dev.berth.session.job;

import dev.berth.session.Session;
import org.jdbi.v3.core.Handle;

/** Has to know when jobs end. What it writes is written together with the end, or not at all. */
public interface JobListener {
    JobListener NONE = new JobListener() {
        @Override
        public void ended(Handle handle, Job job) {}

        @Override
        public void observed(Handle handle, Job job) {}

        @Override
        public void written() {}
    };

    /** A job's command has ended, and its session is still up. */
    default void ending(Session session, Job job) {}

    /** A job ended, in this transaction. */
    void ended(Handle handle, Job job);

    /** Somebody has read how a job ended, in this transaction; that is told once for each job. */
    void observed(Handle handle, Job job);

    /** What was written by {@link #ended} can be seen. */
    void written();
}

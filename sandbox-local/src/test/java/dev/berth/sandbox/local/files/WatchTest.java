package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.RootFixture.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileEvent;
import dev.berth.sandbox.FileEvent.Kind;
import dev.berth.sandbox.SandboxFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class WatchTest {
    @TempDir
    private Path directory;

    private final BlockingQueue<FileEvent> events = new LinkedBlockingQueue<>();
    private RootFixture sandbox;
    private RootFiles files;

    @BeforeEach
    void makeRoot() throws IOException {
        sandbox = new RootFixture(directory);
        files = sandbox.files;
        sandbox.sh("mkdir -p w/sub");
    }

    /** The events up to a last one that the test makes for this. */
    private List<FileEvent> eventsUntilNow(String watched) throws InterruptedException {
        FileEvent last = new FileEvent(Kind.CREATED, watched + "/end");
        sandbox.sh("mkfifo ." + watched + "/end");
        List<FileEvent> seen = new ArrayList<>();
        for (FileEvent event = next(); !event.equals(last); event = next()) {
            seen.add(event);
        }
        return seen;
    }

    private FileEvent next() throws InterruptedException {
        FileEvent event = events.poll(60, TimeUnit.SECONDS);
        assertThat(event).as("an event").isNotNull();
        return event;
    }

    private static FileEvent event(Kind kind, String path) {
        return new FileEvent(kind, path);
    }

    @Test
    void reportsWhatHappensInADirectory() throws InterruptedException {
        try (var _ = files.watch("/w", false, events::add)) {
            sandbox.sh("echo x > w/a; chmod 600 w/a; mv w/a w/b; rm w/b; touch w/sub/unseen");

            assertThat(eventsUntilNow("/w"))
                    .contains(
                            event(Kind.CREATED, "/w/a"),
                            event(Kind.WRITTEN, "/w/a"),
                            event(Kind.CHMOD, "/w/a"),
                            event(Kind.RENAMED, "/w/a"),
                            event(Kind.CREATED, "/w/b"),
                            event(Kind.REMOVED, "/w/b"))
                    .noneMatch(e -> e.path().startsWith("/w/sub/"));
        }
    }

    @Test
    void aWriteOfOursIsReportedAsOne() throws InterruptedException {
        try (var _ = files.watch("/w", true, events::add)) {
            files.write("/w/a", bytes("new"));
            files.write("/w/a", bytes("newer"));

            assertThat(eventsUntilNow("/w"))
                    .containsExactly(
                            event(Kind.CREATED, "/w/a"), event(Kind.WRITTEN, "/w/a"), event(Kind.WRITTEN, "/w/a"));
        }
    }

    @Test
    void aRecursiveWatchSeesWhatIsThereAndWhatIsMade() throws InterruptedException {
        try (var _ = files.watch("/w", true, events::add)) {
            sandbox.sh("echo x > w/sub/a; mkdir -p w/new/er/est; echo x > w/new/er/est/b");

            List<FileEvent> seen = eventsUntilNow("/w");
            assertThat(seen)
                    .contains(
                            event(Kind.CREATED, "/w/sub/a"),
                            event(Kind.CREATED, "/w/new"),
                            event(Kind.CREATED, "/w/new/er"),
                            event(Kind.CREATED, "/w/new/er/est"),
                            event(Kind.CREATED, "/w/new/er/est/b"));
            assertThat(seen).filteredOn(e -> e.kind() == Kind.CREATED).doesNotHaveDuplicates();
        }
    }

    @Test
    void aTreeMadeInAHurryIsReportedWholeAndOnce() throws InterruptedException {
        try (var _ = files.watch("/w", true, events::add)) {
            RootFixture.python("""
                    import os
                    for i in range(50):
                        os.makedirs('w/t%d/x/y' % i)
                        open('w/t%d/x/y/f' % i, 'w').close()
                    """, sandbox.root);

            assertThat(eventsUntilNow("/w"))
                    .filteredOn(e -> e.kind() == Kind.CREATED)
                    .hasSize(200)
                    .doesNotHaveDuplicates();
        }
    }

    @Test
    void aDirectoryThatMovesIsWatchedUnderItsNewName() throws InterruptedException {
        try (var _ = files.watch("/w", true, events::add)) {
            sandbox.sh("mkdir w/sub/in; mv w/sub w/moved");
            assertThat(eventsUntilNow("/w")).contains(event(Kind.RENAMED, "/w/sub"), event(Kind.CREATED, "/w/moved"));
            sandbox.sh("rm w/end; touch w/moved/in/a; mv w/moved elsewhere; touch elsewhere/in/b");

            assertThat(eventsUntilNow("/w"))
                    .contains(event(Kind.CREATED, "/w/moved/in/a"), event(Kind.RENAMED, "/w/moved"))
                    .noneMatch(e -> e.path().endsWith("/b"));
        }
    }

    @Test
    void theEndOfTheDirectoryItselfIsReported() throws InterruptedException {
        try (var _ = files.watch("/w", false, events::add)) {
            sandbox.sh("rm -r w");

            assertThat(List.of(next(), next()))
                    .containsExactly(event(Kind.REMOVED, "/w/sub"), event(Kind.REMOVED, "/w"));
        }
    }

    @Test
    void aListenerThatFailsGetsTheNextEventToo() throws InterruptedException {
        try (var _ = files.watch("/w", false, event -> {
            events.add(event);
            throw new IllegalStateException("a bad listener");
        })) {
            sandbox.sh("mkdir w/a w/b");

            assertThat(eventsUntilNow("/w")).hasSize(2);
        }
    }

    @Test
    void aQueueThatOverflowsIsReported() throws Exception {
        // Not readString: its first read is for one byte, and a sysctl has no more to say after its first read.
        int queue = Integer.parseInt(Files.readAllLines(Path.of("/proc/sys/fs/inotify/max_queued_events"))
                .getFirst());
        CountDownLatch made = new CountDownLatch(1);
        try (var _ = files.watch("/w", true, event -> {
            try {
                made.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            if (event.kind() == Kind.OVERFLOW || event.path().endsWith("/after")) {
                events.add(event);
            }
        })) {
            sandbox.sh("mkdir w/a w/b");
            RootFixture.python(
                    "import os\nfor i in range(2 * %d): os.chmod('w/' + 'ab'[i %% 2], 0o700)\nos.mkdir('w/late')"
                            .formatted(queue),
                    sandbox.root);
            made.countDown();

            assertThat(next()).isEqualTo(event(Kind.OVERFLOW, "/w"));
            sandbox.sh("mkdir w/late/after");
            assertThat(next()).isEqualTo(event(Kind.CREATED, "/w/late/after"));
        }
    }

    @Test
    void nothingIsReportedOnceItIsClosed() throws InterruptedException {
        SandboxFiles.Watch watch = files.watch("/w", false, events::add);
        watch.close();
        watch.close();
        try (var _ = files.watch("/w", false, events::add)) {
            assertThat(eventsUntilNow("/w")).isEmpty();
        }
        assertThat(events).isEmpty();
    }

    @Test
    void closedWatchesLeaveNothingBehind() {
        int instances = 300;
        for (int i = 0; i < instances; i++) {
            files.watch("/w", true, events::add).close();
        }
        assertThat(events).isEmpty();
    }

    @Test
    void onlyADirectoryThatIsThereIsWatched() {
        files.write("/file", bytes("x"));
        sandbox.sh("ln -s ../outside out");

        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.watch("/no", true, events::add));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.watch("/out", true, events::add));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.watch("/file", true, events::add));
    }

    @Test
    void tooManyDirectoriesAreALimit() {
        RootFixture.python("import os\nfor i in range(8200): os.mkdir('w/%d' % i)", sandbox.root);

        sandbox.assertFails(ErrorCode.LIMIT, () -> files.watch("/w", true, events::add));
        files.watch("/w", false, events::add).close();
    }
}

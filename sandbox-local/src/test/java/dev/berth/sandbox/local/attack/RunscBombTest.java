package dev.berth.sandbox.local.attack;

import dev.berth.sandbox.SkippedTests;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The bombs in runsc's sandboxes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SkippedTests.class)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunscBombTest implements Bombs {
    private Siege siege;

    @BeforeAll
    void begin() throws IOException {
        siege = new Siege(RuntimeKind.RUNSC);
    }

    @Override
    public Siege siege() {
        return siege;
    }

    @AfterAll
    void leaveNothing() throws IOException {
        siege.close();
    }
}

package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Signal;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StreamsTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void keepsTheTwoOutputsApartAndReturnsTheEnd() {
        Streams.End end = new Streams(InputStream.nullInputStream(), out, err)
                .tieTo(new FakeCommand("output", "errors", Exit.exited(3)), false);
        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("output");
        assertThat(err.toString(StandardCharsets.UTF_8)).isEqualTo("errors");
        assertThat(end).isEqualTo(new Streams.End(Exit.exited(3), false));
    }

    @Test
    void passesInputOnToItsEnd() throws Exception {
        FakeCommand command = new FakeCommand("", "", Exit.exited(0));
        InputStream in = new ByteArrayInputStream("typed".getBytes(StandardCharsets.UTF_8));
        new Streams(in, out, err).tieTo(command, true);
        assertThat(command.stdinClosed.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(command.fed()).isEqualTo("typed");
    }

    @Test
    void killsTheCommandWhenNobodyReadsAnyMore() {
        FakeCommand command = new FakeCommand("much", "", Exit.signalled(9, false));
        OutputStream closed = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        Streams.End end = new Streams(InputStream.nullInputStream(), closed, err).tieTo(command, false);
        assertThat(end.brokenPipe()).isTrue();
        assertThat(command.signals).containsExactly(Signal.KILL);
    }
}

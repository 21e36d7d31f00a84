package dev.berth.sandbox.local.guest;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

class InflowTest {
    private final List<Long> credits = new ArrayList<>();
    private final Inflow inflow = new Inflow(0, Inflow.WINDOW / 2, credits::add);

    @Test
    void givesBackWhatCameInOrderAndThenTheEnd() throws IOException {
        inflow.receive(0, bytes("hello "));
        inflow.receive(6, bytes("world"));
        inflow.end(11);
        assertThat(new String(inflow.readAllBytes(), US_ASCII)).isEqualTo("hello world");
        assertThat(inflow.dropped()).isZero();
    }

    @Test
    void whoWaitsIsGivenWhatComesAndTheRestIsKept() throws Exception {
        byte[] target = new byte[4];
        FutureTask<Integer> reading = new FutureTask<>(() -> inflow.read(target, 1, 3));
        Thread reader = Thread.ofPlatform().start(reading);
        while (reader.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        inflow.receive(0, bytes("abcde"));
        inflow.receive(5, bytes("fg"));
        inflow.end(7);
        assertThat(reading.get()).isEqualTo(3);
        assertThat(target).containsExactly(0, 'a', 'b', 'c');
        assertThat(new String(inflow.readAllBytes(), US_ASCII)).isEqualTo("defg");
    }

    @Test
    void whoIsInterruptedLosesNothing() throws Exception {
        FutureTask<String> reading = new FutureTask<>(() -> {
            byte[] target = new byte[10];
            int n;
            try {
                n = inflow.read(target, 0, 10);
            } catch (InterruptedIOException e) {
                boolean _ = Thread.interrupted();
                n = inflow.read(target, 0, 10);
            }
            return new String(target, 0, n, US_ASCII);
        });
        Thread reader = Thread.ofPlatform().start(reading);
        while (reader.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        reader.interrupt();
        inflow.receive(0, bytes("kept"));
        assertThat(reading.get()).isEqualTo("kept");
    }

    @Test
    void bytesThatComeAfterAMarkCanBeReadAgainAlsoByWhoWaitedForThem() throws Exception {
        inflow.mark(100);
        FutureTask<Integer> reading = new FutureTask<>(inflow::read);
        Thread reader = Thread.ofPlatform().start(reading);
        while (reader.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        inflow.receive(0, bytes("abc"));
        assertThat(reading.get()).isEqualTo('a');
        inflow.reset();
        inflow.end(3);
        assertThat(new String(inflow.readAllBytes(), US_ASCII)).isEqualTo("abc");
    }

    @Test
    void givesCreditWhenAStepWasTaken() throws IOException {
        inflow.receive(0, ByteBuffer.allocate(Inflow.WINDOW));
        inflow.readNBytes(Inflow.WINDOW / 2 - 1);
        assertThat(credits).isEmpty();
        inflow.readNBytes(1);
        assertThat(credits).containsExactly((long) Inflow.WINDOW / 2);
    }

    @Test
    void refusesMoreThanTheWindow() throws IOException {
        inflow.receive(0, ByteBuffer.allocate(Inflow.WINDOW));
        assertThatThrownBy(() -> inflow.receive(Inflow.WINDOW, bytes("x"))).isInstanceOf(ProtocolException.class);
    }

    @Test
    void refusesBytesThatCameBefore() throws IOException {
        inflow.receive(0, bytes("abc"));
        assertThatThrownBy(() -> inflow.receive(2, bytes("c"))).isInstanceOf(ProtocolException.class);
    }

    @Test
    void countsAGapAndGivesCreditAtTheNextRead() throws IOException {
        inflow.receive(0, bytes("abc"));
        inflow.receive(1_000_000, bytes("def"));
        inflow.end(1_000_003);
        assertThat(inflow.dropped()).isEqualTo(999_997);
        assertThat(inflow.read()).isEqualTo('a');
        assertThat(credits).isEmpty();
        assertThat(new String(inflow.readAllBytes(), US_ASCII)).isEqualTo("bcdef");
    }

    @Test
    void aGapInALiveStreamIsCreditedAtOnce() throws IOException {
        inflow.receive(0, bytes("abc"));
        inflow.receive(1_000_000, bytes("def"));
        inflow.readNBytes(4);
        assertThat(credits).containsExactly(1_000_001L);
    }

    @Test
    void whatIsReadBeforeAGapIsCreditedWhereItWasInTheStream() throws IOException {
        int quarter = Inflow.WINDOW / 4;
        inflow.receive(0, ByteBuffer.allocate(2 * quarter));
        inflow.receive(1_000_000, ByteBuffer.allocate(2 * quarter));
        assertThat(inflow.read(new byte[quarter])).isEqualTo(quarter);
        assertThat(credits).containsExactly((long) quarter);
        inflow.receive(1_000_000 + 2L * quarter, ByteBuffer.allocate(quarter));
        assertThatThrownBy(() -> inflow.receive(1_000_000 + 3L * quarter, bytes("x")))
                .isInstanceOf(ProtocolException.class);
        assertThat(inflow.read(new byte[2 * quarter])).isEqualTo(2 * quarter);
        assertThat(credits).last().isEqualTo(1_000_000L + quarter);
        inflow.receive(1_000_000 + 3L * quarter, ByteBuffer.allocate(2 * quarter));
        assertThatThrownBy(() -> inflow.receive(1_000_000 + 5L * quarter, bytes("x")))
                .isInstanceOf(ProtocolException.class);
    }

    @Test
    void survivesManyWrapsOfItsRing() throws IOException {
        long offset = 0;
        for (int round = 0; round < 500; round++) {
            byte[] chunk = new byte[777];
            java.util.Arrays.fill(chunk, (byte) round);
            inflow.receive(offset, ByteBuffer.wrap(chunk));
            offset += chunk.length;
            byte[] read = inflow.readNBytes(chunk.length);
            assertThat(read).isEqualTo(chunk);
        }
    }

    @Test
    void afterAMarkCreditIsGivenOnlyByTheNextOneAndWhatWasReadCanBeReadAgain() throws IOException {
        inflow.mark(64 << 10);
        long offset = 0;
        for (int round = 0; round < 500; round++) {
            byte[] chunk = new byte[20_000];
            java.util.Arrays.fill(chunk, (byte) round);
            inflow.receive(offset, ByteBuffer.wrap(chunk));
            credits.clear();
            assertThat(inflow.readNBytes(chunk.length)).isEqualTo(chunk);
            inflow.reset();
            assertThat(inflow.readNBytes(chunk.length - 1)).isEqualTo(java.util.Arrays.copyOf(chunk, chunk.length - 1));
            assertThat(credits).isEmpty();
            inflow.mark(64 << 10);
            offset += chunk.length;
            assertThat(credits).containsExactly(offset - 1);
            assertThat(inflow.read()).isEqualTo(Byte.toUnsignedInt((byte) round));
            inflow.mark(64 << 10);
        }
        assertThat(inflow.available()).isZero();
    }

    @Test
    void whatWasReceivedCanBeReadAfterAFailure() throws IOException {
        inflow.receive(0, bytes("rest"));
        inflow.fail(SandboxException.gone("the sandbox is gone"));
        assertThat(new String(inflow.readNBytes(4), US_ASCII)).isEqualTo("rest");
        assertThatThrownBy(inflow::read).isInstanceOf(IOException.class).hasMessageContaining("gone");
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(US_ASCII));
    }
}

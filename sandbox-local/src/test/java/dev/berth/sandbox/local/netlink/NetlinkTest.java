package dev.berth.sandbox.local.netlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.local.linux.ErrnoException;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Asks the kernel of this machine about its interfaces. Needs root to enter networks. */
class NetlinkTest {
    private static final int GETLINK = 18;
    private static final int IFNAME = 3;
    private static final int STRUCTURE = 16;

    private static Message links(int flags) {
        return Message.of(GETLINK, flags, new byte[STRUCTURE]);
    }

    @Test
    void whatThereIsIsListed() throws IOException {
        try (Netlink kernel = Netlink.open(Netlink.ROUTE)) {
            assertThat(kernel.list(links(Message.DUMP), STRUCTURE))
                    .extracting(link -> link.text(IFNAME).orElse(""))
                    .contains("lo");
            List<Attributes> one = kernel.list(links(0).with(IFNAME, "lo"), STRUCTURE);
            assertThat(one).hasSize(1);
            assertThat(one.getFirst().fixed().getInt(4)).isEqualTo(1);
        }
    }

    @Test
    void aRefusalIsTheKernelsOwnAndTheConversationGoesOn() throws IOException {
        try (Netlink kernel = Netlink.open(Netlink.ROUTE)) {
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> kernel.list(links(0).with(IFNAME, "nobody-is-so"), STRUCTURE))
                        .isInstanceOfSatisfying(
                                ErrnoException.class, e -> assertThat(e.errno()).isEqualTo(ErrnoException.ENODEV));
                assertThat(kernel.list(links(0).with(IFNAME, "lo"), STRUCTURE)).hasSize(1);
            }
        }
    }

    @Test
    void aNetworkIsThatOfTheProcess() throws Exception {
        Process other = new ProcessBuilder("unshare", "--net", "sh", "-c", "echo in; cat").start();
        try (var said = other.inputReader()) {
            assertThat(said.readLine()).isEqualTo("in");
            try (Netlink kernel = Netlink.openIn(Netlink.ROUTE, Math.toIntExact(other.pid()))) {
                assertThat(kernel.list(links(Message.DUMP), STRUCTURE))
                        .extracting(link -> link.text(IFNAME).orElse(""))
                        .containsExactly("lo");
            }
        } finally {
            other.destroyForcibly().waitFor();
        }
        assertThatThrownBy(() -> Netlink.openIn(Netlink.ROUTE, Math.toIntExact(other.pid())))
                .isInstanceOfSatisfying(
                        ErrnoException.class, e -> assertThat(e.errno()).isEqualTo(ErrnoException.ENOENT));
    }

    @Test
    void attributesOfAnySizeGoInAndComeOutAsTheyWere() {
        Message message = links(0).with(1, new byte[5000])
                .with(
                        2,
                        inner -> inner.with(3, "name").with(4, 77).with(5, deepest -> deepest.withNetworkOrder(6, 8L)));
        byte[] bytes = message.bytes(1);
        assertThat(bytes.length % 4).isZero();
        java.nio.ByteBuffer body = java.nio.ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.nativeOrder());
        assertThat(body.getInt(0)).isEqualTo(bytes.length);
        Attributes read = Attributes.read(body.position(Message.HEADER), STRUCTURE);
        assertThat(read.bytes(1).orElseThrow()).hasSize(5000);
        assertThat(read.nested(2).text(3)).hasValue("name");
        assertThat(read.nested(2).number(4)).hasValue(77);
        assertThat(read.nested(2).nested(5).networkOrder(6)).hasValue(8L);
        assertThat(read.nested(9).text(1)).isEmpty();
    }
}

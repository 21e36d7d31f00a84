package dev.berth.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestHeadTest {

    @Test
    void isReadUpToItsEmptyLine() throws Exception {
        RequestHead head = read("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX-A:\t1 \r\nx-a: 2\r\n\r\nmore");
        assertThat(head.method()).isEqualTo("CONNECT");
        assertThat(head.target()).isEqualTo("a.example:443");
        assertThat(head.values("X-a")).containsExactly("1", "2");
        assertThat(new String(head.rest(), StandardCharsets.ISO_8859_1)).isEqualTo("more");
    }

    @Test
    void isReadHoweverItArrives() throws Exception {
        byte[] bytes = "GET http://a.example/ HTTP/1.0\r\nA: b\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1);
        InputStream slow = new ByteArrayInputStream(bytes) {
            @Override
            public synchronized int read(byte[] target, int offset, int length) {
                return super.read(target, offset, Math.min(1, length));
            }
        };
        assertThat(RequestHead.read(slow).bytes()).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET / HTTP/1.1\n\n",
                "GET / HTTP/1.1\nHost: a\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\n\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
                "GET / HTTP/1.1\r\n A: b\r\n\r\n",
                "GET / HTTP/1.1\r\nA : b\r\n\r\n",
                "GET / HTTP/1.1\r\nA\r\n\r\n",
                "GET / HTTP/1.1\r\n: b\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\u007f\r\n\r\n",
                "GET  / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1 \r\n\r\n",
                "GET / HTTP/2.0\r\n\r\n",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "GET /\r\n\r\n",
                "GET /\u00e9 HTTP/1.1\r\n\r\n",
                "\r\nGET / HTTP/1.1\r\n\r\n",
                "\r\n\r\n",
                "\u0016\u0003\u0001\u0002\0\u0001",
                "\u0005\u0001\0"
            })
    void isRefusedIfItCouldBeReadInTwoWays(String text) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(Reason.BAD_REQUEST));
    }

    @Test
    void hasAnEndEvenIfItHasNone() {
        String endless = "GET / HTTP/1.1\r\n" + "A: b\r\n".repeat(20_000);
        assertThatThrownBy(() -> read(endless))
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(Reason.TOO_LARGE));
    }

    @Test
    void isNotThereIfTheConnectionEndsInIt() {
        assertThatThrownBy(() -> read("GET / HTTP/1.1\r\n")).isInstanceOf(RequestHead.EndedEarly.class);
    }

    private static RequestHead read(String text) throws Exception {
        return RequestHead.read(new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)));
    }
}

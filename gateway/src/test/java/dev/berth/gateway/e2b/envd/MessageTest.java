package dev.berth.gateway.e2b.envd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MessageTest {
    @Test
    void aValueOfAnEnumerationIsSaidByItsNameOrItsNumber() {
        assertThat(Message.parse("{\"signal\":\"SIGNAL_SIGKILL\"}".getBytes(java.nio.charset.StandardCharsets.UTF_8))
                        .constant("signal"))
                .hasValue("SIGNAL_SIGKILL");
        assertThat(Message.parse("{\"signal\":9}".getBytes(java.nio.charset.StandardCharsets.UTF_8))
                        .constant("signal"))
                .hasValue("9");
    }

    private static Message message(String json) {
        return Message.parse(json.getBytes(UTF_8));
    }

    @Test
    void readsWhatProtocolBuffersAllow() {
        Message message = message("""
                {"watcher_id": "w", "includeEntry": true, "pid": "17", "depth": 2, "bytes": "-_8", "none": null,
                 "unknown": {"x": [1]}, "list": ["a"], "map": {"k": "v"}}""");
        assertThat(message.text("watcherId")).contains("w");
        assertThat(message.flag("includeEntry", false)).isTrue();
        assertThat(message.number("pid")).contains(17);
        assertThat(message.number("depth")).contains(2);
        assertThat(message.bytes("bytes"))
                .hasValueSatisfying(bytes -> assertThat(bytes).containsExactly(0xfb, 0xff));
        assertThat(message.has("none")).isFalse();
        assertThat(message.texts("list")).containsExactly("a");
        assertThat(message.textMap("map")).containsEntry("k", "v");
        assertThat(message.texts("missing")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "1", "{", "{\"a\":1}}", "null", "\"\"", "\u0000"})
    void refusesWhatIsNoObject(String json) {
        assertThatThrownBy(() -> message(json)).isInstanceOf(ConnectError.class);
    }

    @Test
    void refusesWhatIsOfAnotherKind() {
        Message message =
                message("{\"n\":-1,\"f\":1.5,\"b\":\"%%\",\"t\":1,\"l\":{},\"m\":{\"k\":1},\"huge\":4294967296}");
        assertThatThrownBy(() -> message.number("n")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.number("f")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.number("huge")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.bytes("b")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.text("t")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.texts("l")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.textMap("m")).isInstanceOf(ConnectError.class);
        assertThatThrownBy(() -> message.message("t")).isInstanceOf(ConnectError.class);
    }

    @Test
    void refusesWhatIsNestedTooDeeply() {
        assertThatThrownBy(() -> message("{\"a\":".repeat(5000) + "1" + "}".repeat(5000)))
                .isInstanceOf(ConnectError.class);
    }
}

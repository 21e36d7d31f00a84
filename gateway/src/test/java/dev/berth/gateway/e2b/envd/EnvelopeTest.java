package dev.berth.gateway.e2b.envd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnvelopeTest {
    private static byte[] read(byte[] body) throws IOException {
        return Envelope.onlyMessage(new ByteArrayInputStream(body), 1000);
    }

    @Test
    void isFlagsLengthAndMessage() {
        assertThat(new Envelope(2, "{}".getBytes(UTF_8)).bytes())
                .isEqualTo(HexFormat.of().parseHex("02000000027b7d"));
    }

    @Test
    void readsWhatItWrote() throws IOException {
        byte[] message = "{\"path\":\"ü\"}".getBytes(UTF_8);
        assertThat(read(new Envelope(0, message).bytes())).isEqualTo(message);
        assertThat(read(new Envelope(0, new byte[0]).bytes())).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "'', UNIMPLEMENTED", // no message
        "0000, INVALID_ARGUMENT", // half a head
        "000000000a7b7d, INVALID_ARGUMENT", // shorter than it says
        "01000000027b7d, INTERNAL", // compressed
        "02000000027b7d, INVALID_ARGUMENT", // an end that no client sends
        "ff000000027b7d, INTERNAL", // everything at once
        "00ffffffff7b7d, RESOURCE_EXHAUSTED", // four gigabytes
        "00000003e97b7d, RESOURCE_EXHAUSTED", // one more than is allowed
        "00000000027b7d00, UNIMPLEMENTED", // something behind it
        "00000000027b7d00000000027b7d, UNIMPLEMENTED" // two messages
    })
    void refusesWhatIsMalformed(String hex, ConnectCode code) {
        assertThatThrownBy(() -> read(HexFormat.of().parseHex(hex)))
                .asInstanceOf(type(ConnectError.class))
                .extracting(ConnectError::code)
                .isEqualTo(code);
    }

    @Test
    void takesNoMemoryForAMessageThatDoesNotCome() throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.write(HexFormat.of().parseHex("003fffffff"));
        assertThatThrownBy(() -> Envelope.onlyMessage(new ByteArrayInputStream(body.toByteArray()), Integer.MAX_VALUE))
                .hasMessageContaining("promised 1073741823 bytes in enveloped message, got 0");
    }
}

package dev.berth.gateway.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FormReaderTest {
    private static final String TYPE = "multipart/form-data; boundary=XX";

    /** Gives as many bytes at a time as chance has it. */
    private static InputStream inPieces(byte[] bytes, Random random) {
        return new FilterInputStream(new ByteArrayInputStream(bytes)) {
            @Override
            public int read(byte[] buffer, int offset, int length) throws IOException {
                return super.read(
                        buffer, offset, Math.min(length, 1 + random.nextInt(random.nextBoolean() ? 3 : 5000)));
            }
        };
    }

    private static Map<String, byte[]> read(InputStream in) throws IOException {
        FormReader form = FormReader.of(in, TYPE);
        Map<String, byte[]> parts = new LinkedHashMap<>();
        for (Optional<FormReader.Part> part = form.next(); part.isPresent(); part = form.next()) {
            parts.put(
                    part.get().name()
                            + part.get().file().map(file -> ":" + file).orElse(""),
                    part.get().content().readAllBytes());
        }
        assertThat(form.next()).isEmpty();
        return parts;
    }

    private static InputStream of(String text) {
        return new ByteArrayInputStream(text.getBytes(ISO_8859_1));
    }

    @Test
    void anyContentComesOutAsItWentInHoweverTheBytesArrive() throws IOException {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        byte[] alphabet = "\r\n--XX-ab".getBytes(ISO_8859_1);
        for (int round = 0; round < 200; round++) {
            Map<String, byte[]> wanted = new LinkedHashMap<>();
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            for (int i = 0; i < 1 + random.nextInt(4); i++) {
                byte[] content = new byte[random.nextInt(round % 20 == 0 ? 200_000 : 200)];
                for (int k = 0; k < content.length; k++) {
                    content[k] = alphabet[random.nextInt(alphabet.length)];
                }
                byte[] clean = new String(content, ISO_8859_1)
                        .replaceAll("\n--XX+", "\n--X")
                        .getBytes(ISO_8859_1);
                wanted.put("p" + i, clean);
                body.write(
                        ("--XX\r\nContent-Disposition: form-data; name=\"p" + i + "\"\r\n\r\n").getBytes(ISO_8859_1));
                body.write(clean);
                body.write("\r\n".getBytes(ISO_8859_1));
            }
            body.write("--XX--".getBytes(ISO_8859_1));
            Map<String, byte[]> got = read(inPieces(body.toByteArray(), random));
            assertThat(got.keySet()).as("seed " + seed).isEqualTo(wanted.keySet());
            wanted.forEach((name, content) ->
                    assertThat(got.get(name)).as("seed " + seed).isEqualTo(content));
        }
    }

    @Test
    void namesOfFilesMayHaveQuotesAndOtherHeadersAreLeftAlone() throws IOException {
        String form = String.join(
                "\r\n",
                "a preamble",
                "--XX  ",
                "content-type: text/plain",
                "content-disposition: form-data; name=f; filename=\"a \\\"b\\\"; c.txt\"",
                "",
                "x",
                "--XX--",
                "");
        assertThat(read(of(form))).containsOnlyKeys("f:a \"b\"; c.txt");
    }

    @Test
    void whatIsNotReadIsPassedOver() throws IOException {
        FormReader form = FormReader.of(
                of("--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n" + "long ".repeat(50_000)
                        + "\r\n--XX\r\nContent-Disposition: form-data; name=b\r\n\r\n2\r\n--XX--"),
                TYPE);
        assertThat(form.next()).isPresent();
        FormReader.Part second = form.next().orElseThrow();
        assertThat(second.name()).isEqualTo("b");
        assertThat(second.content().readAllBytes()).asString(ISO_8859_1).isEqualTo("2");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--XX",
                "--XX\r\nContent-Disposition: form-data; name=a",
                "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\nhalf",
                "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\nwhole\r\n--X"
            })
    void aBodyThatBreaksOffIsNoForm(String body) {
        assertThatThrownBy(() -> read(of(body))).isInstanceOf(EOFException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--XX\r\n\r\nno name\r\n--XX--", "--XXY\r\n\r\n", "--XX\r\nA: %s\r\n\r\n\r\n--XX--"})
    void whatCannotBeReadIsInvalid(String body) {
        assertThatThrownBy(() -> read(of(body.replace("%s", "a".repeat(20_000)))))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("the form cannot be read");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "multipart/form-data",
                "multipart/mixed; boundary=XX",
                "text/plain",
                "multipart/form-data; boundary="
            })
    void aTypeThatIsNoFormIsRefused(String type) {
        assertThatThrownBy(() -> FormReader.of(of(""), type)).hasMessageContaining("multipart/form-data");
    }
}

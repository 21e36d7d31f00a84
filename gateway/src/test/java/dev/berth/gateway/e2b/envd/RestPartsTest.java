package dev.berth.gateway.e2b.envd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.Account;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.List;
import java.util.Optional;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RestPartsTest {
    @Test
    void whatIsCompressedHasAnEndOnlyIfAllOfItWasThere() throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        Download.zip(new ByteArrayInputStream(new byte[300_000]), 300_000, whole);
        assertThat(unzipped(whole)).hasSize(300_000);

        for (InputStream broken : List.of(
                new ByteArrayInputStream(new byte[300_000]),
                new SequenceInputStream(new ByteArrayInputStream(new byte[300_000]), closed()))) {
            ByteArrayOutputStream part = new ByteArrayOutputStream();
            assertThatThrownBy(() -> Download.zip(broken, 300_001, part)).isInstanceOf(Call.Broken.class);
            assertThatThrownBy(() -> unzipped(part)).isInstanceOf(EOFException.class);
        }
    }

    /** Fails whoever reads it. */
    private static InputStream closed() throws IOException {
        InputStream stream = InputStream.nullInputStream();
        stream.close();
        return stream;
    }

    private static byte[] unzipped(ByteArrayOutputStream zipped) throws IOException {
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(zipped.toByteArray()))) {
            return in.readAllBytes();
        }
    }

    private static final Account USER = new Account("user", 1000, 1000, "/home/user");

    @ParameterizedTest
    @CsvSource({
        "bytes=0-3, 0-3",
        "bytes=2-, 2-9",
        "bytes=-4, 6-9",
        "bytes=-40, 0-9",
        "bytes=5-500, 5-9",
        "bytes=9-9, 9-9",
        "bytes=10-, none",
        "bytes=-0, none",
        "bytes=3-2, whole",
        "'bytes=0-1,4-5', whole",
        "bytes=-, whole",
        "lines=1-2, whole",
        "'', whole"
    })
    void aRangeIsAPartOfTheFile(String header, String expected) {
        String found = switch (ByteRange.of(Optional.of(header), 10)) {
            case ByteRange.Asked.Whole _ -> "whole";
            case ByteRange.Asked.Unsatisfiable _ -> "none";
            case ByteRange.Asked.Part(ByteRange range) -> range.first() + "-" + range.last();
        };
        assertThat(found).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "'', false",
        "gzip, true",
        "'gzip, deflate', true",
        "'deflate, br', false",
        "'identity, gzip;q=0.5', false",
        "'identity;q=0.1, gzip;q=0.5', true",
        "gzip;q=0, false",
        "*, false",
        "'identity;q=0, *', true",
        "GZIP, true"
    })
    void contentIsCompressedForWhoPrefersThat(String header, boolean gzip) {
        assertThat(Encodings.gzipWanted(Optional.of(header))).isEqualTo(gzip);
    }

    @Test
    void whoTakesNothingThatThereIsGetsNothing() {
        assertThatThrownBy(() -> Encodings.gzipWanted(Optional.of("identity;q=0, br")))
                .isInstanceOfSatisfying(
                        E2bError.class, e -> assertThat(e.status()).isEqualTo(406));
        assertThatThrownBy(() -> Encodings.gzipped(Optional.of("br")))
                .isInstanceOfSatisfying(
                        E2bError.class, e -> assertThat(e.status()).isEqualTo(400));
        assertThat(Encodings.gzipped(Optional.of("gzip"))).isTrue();
        assertThat(Encodings.gzipped(Optional.empty())).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "'', /home/user",
        "~, /home/user",
        "~/a, /home/user/a",
        "a/../../b, /home/b",
        "../../../../etc/passwd, /etc/passwd",
        "/x/../y, /x/../y",
        "./a//b/., /home/user/a/b"
    })
    void aPathIsAbsoluteOrInTheHome(String path, String expected) {
        assertThat(UserPath.of(USER, path)).isEqualTo(expected);
    }

    @Test
    void nobodysHomeIsFoundByName() {
        assertThatThrownBy(() -> UserPath.of(USER, "~root/x")).isInstanceOf(ConnectError.class);
    }

    @ParameterizedTest
    @CsvSource({
        "a.txt, 'inline; filename=a.txt'",
        "a b.txt, 'inline; filename=\"a b.txt\"'",
        "a\"\\.txt, 'inline; filename=\"a\\\"\\\\.txt\"'",
        "ä ö, 'inline; filename*=utf-8''''%C3%A4%20%C3%B6'"
    })
    void aNameIsWrittenInTheFormThatItNeeds(String name, String expected) {
        assertThat(Download.disposition(name)).isEqualTo(expected);
    }

    @Test
    void theUserOfACallIsThatOfBasicAuthentication() {
        assertThat(Visit.named(Optional.of("Basic cm9vdDo="))).contains("root");
        assertThat(Visit.named(Optional.of("basic cm9vdDpwdw=="))).contains("root");
        assertThat(Visit.named(Optional.of("Bearer cm9vdDo="))).isEmpty();
        assertThat(Visit.named(Optional.of("Basic %%%"))).isEmpty();
        assertThat(Visit.named(Optional.empty())).isEmpty();
    }
}

package dev.berth.gateway.http;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Reads JSON bodies from people who may mean harm. */
final class Bodies {
    private static final int DEEPEST = 64;

    static final JsonMapper JSON = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNestingDepth(DEEPEST)
                            .maxStringLength(Integer.MAX_VALUE)
                            .maxNumberLength(100)
                            .build())
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private Bodies() {}

    static ObjectNode read(InputStream in, long limit) throws IOException {
        byte[] bytes = in.readNBytes(Math.toIntExact(limit + 1));
        if (bytes.length > limit) {
            throw new SandboxException(ErrorCode.LIMIT, "the body is larger than " + limit + " bytes")
                    .with(SandboxException.LIMIT, "request_bytes")
                    .with(SandboxException.ALLOWED, limit);
        }
        try {
            return parse("the body", utf8(bytes));
        } catch (CharacterCodingException e) {
            throw SandboxException.invalid("the body is not UTF-8");
        }
    }

    static ObjectNode parse(String what, String text) {
        try {
            JsonNode node = JSON.readTree(text);
            if (node instanceof ObjectNode object) {
                return object;
            }
            throw SandboxException.invalid(what + " has to be a JSON object");
        } catch (JacksonException e) {
            // Where, and not what is there: it may be secret.
            throw SandboxException.invalid(what + " is not JSON as it should be" + where(e)
                    + "; look for a quote or a comma that is missing, or a field that is there twice");
        }
    }

    private static String where(JacksonException e) {
        return e.getLocation() == null
                ? ""
                : ", at line " + e.getLocation().getLineNr() + ", column "
                        + e.getLocation().getColumnNr();
    }

    private static String utf8(byte[] bytes) throws CharacterCodingException {
        return StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT)
                .decode(ByteBuffer.wrap(bytes))
                .toString();
    }
}

package dev.berth.tool;

import dev.berth.sandbox.Command;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/**
 * The small program that runs code in an interpreter. It is passed as an argument or a variable, so that there is no file
 * of ours in a sandbox. Requests go to its stdin; it answers by marks in its output, see {@link FrameScanner}.
 */
enum Driver {
    BASH("bash", "driver.sh"),
    PYTHON("python3", "driver.py"),
    NODE("node", "driver.js");

    /**
     * What the driver said about a call.
     *
     * @param cut how many characters of the result are missing
     */
    record Outcome(int code, Optional<String> result, int cut) {}

    private static final ObjectMapper JSON = JsonMapper.shared();
    /** Node cannot duplicate descriptors: requests come on 3, marks go to 4 and 5, and 0 is the user's. */
    private static final String START_NODE = "exec node -e \"$0\" \"$1\" 3<&0 4>&1 5>&2 </dev/null";

    private final String program;
    private final String text;

    Driver(String program, String resource) {
        this.program = program;
        this.text = read(resource);
    }

    static Driver of(Language language) {
        return switch (language) {
            case BASH -> BASH;
            case PYTHON -> PYTHON;
            case NODE -> NODE;
        };
    }

    String program() {
        return program;
    }

    Command command(boolean once, Map<String, String> env) {
        String mode = once ? "once" : "stay";
        return switch (this) {
            case BASH -> {
                Map<String, String> all = new HashMap<>(env);
                all.putAll(
                        Map.of("BERTH_DRIVER", text, "PROMPT_COMMAND", "eval \"$BERTH_DRIVER\"", "PS1", "", "PS2", ""));
                yield Command.of("bash", "--noprofile", "--norc", "--noediting", "-i")
                        .withEnv(all)
                        .withStdin();
            }
            case PYTHON ->
                Command.of("python3", "-u", "-c", text, mode).withEnv(env).withStdin();
            case NODE ->
                Command.of(List.of("bash", "-c", START_NODE, text, mode))
                        .withEnv(env)
                        .withStdin();
        };
    }

    /** It begins with a line feed, which ends what a server that died may have left unfinished. */
    byte[] request(String mark, int resultLimit, String code) {
        String encoded = Base64.getEncoder().encodeToString(code.getBytes(StandardCharsets.UTF_8));
        String request = switch (this) {
            case BASH ->
                "\n__berth_begin " + mark + " " + encoded.length() + " '" + encoded
                        + "' && eval \"$__berth_code\" </dev/null\n{ __berth_end " + mark + "; } 2>/dev/null\n";
            case PYTHON, NODE -> "\n" + mark + " " + resultLimit + " " + encoded.length() + " " + encoded + "\n";
        };
        return request.getBytes(StandardCharsets.US_ASCII);
    }

    /** Code can forge this line, to its own disadvantage only. */
    static Outcome outcome(String line) {
        try {
            JsonNode node = JSON.readTree(line);
            return new Outcome(
                    node.path("code").asInt(1),
                    node.path("result").isString()
                            ? Optional.of(node.path("result").asString())
                            : Optional.empty(),
                    node.path("cut").asInt(0));
        } catch (JacksonException e) {
            return new Outcome(1, Optional.empty(), 0);
        }
    }

    private static String read(String resource) {
        try (InputStream in = Driver.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("the resource " + resource + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}

package dev.berth.agent.acp;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * The file with an agent's {@link Notes}. It is in the sandbox, as it is worth nothing without it; so programs there can
 * write it too, and get no more by that than a message to themselves.
 */
public final class Notebook {
    private static final Logger LOG = LoggerFactory.getLogger(Notebook.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LONGEST = 64 << 20;

    private final SandboxFiles files;
    private final String path;

    /** @param path of the file, absolute */
    public Notebook(SandboxFiles files, String path) {
        this.files = files;
        this.path = path;
    }

    void write(Notes notes) {
        files.write(path, new ByteArrayInputStream(JSON.writeValueAsBytes(notes)), 0600);
    }

    /** The notes about a process, if there are any that can be read. */
    Optional<Notes> read(String process) {
        try (InputStream in = files.read(path, 0, LONGEST)) {
            return Optional.ofNullable(JSON.readValue(in.readAllBytes(), Notes.class))
                    .filter(notes -> notes.process().equals(process));
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read " + path, e);
        } catch (JacksonException e) {
            LOG.debug("the notes about the agent are damaged", e);
            return Optional.empty();
        }
    }
}

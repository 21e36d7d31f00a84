package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * How a template is made, in a few declarative lines; docs/templates.md has the reference.
 *
 * @param source what error messages call it
 * @param directory what {@code copy} takes files from; empty for files that ship with Berth, as what they copy does
 */
public record TemplateFile(String source, Optional<Path> directory, List<Instruction> instructions) {
    private static final long LARGEST = 1 << 20;

    public TemplateFile {
        instructions = List.copyOf(instructions);
    }

    /** Reads a file; {@code copy} is relative to the directory it lies in. */
    public static TemplateFile read(Path file) {
        String name = String.valueOf(file.getFileName());
        try {
            if (Files.size(file) > LARGEST) {
                throw SandboxException.invalid(file + " is too large for a template file (at most 1 MB)");
            }
            Path real = file.toRealPath();
            return parse(name, Files.readString(real), Optional.ofNullable(real.getParent()));
        } catch (NoSuchFileException e) {
            throw SandboxException.notFound("there is no template file " + file);
        } catch (CharacterCodingException e) {
            throw SandboxException.invalid(file + " is not a text file in UTF-8");
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read the template file " + file + ": " + e.getMessage(), e);
        }
    }

    public static TemplateFile parse(String source, String text, Optional<Path> directory) {
        return new TemplateFile(source, directory, new TemplateFileParser(source).parse(text));
    }

    /** The names of all that ship with Berth. */
    public static Set<String> shipped() {
        return Resources.text("shipped")
                .lines()
                .filter(name -> Resources.find(name + ".template").isPresent())
                .collect(Collectors.toUnmodifiableSet());
    }

    /** One that ships with Berth, such as {@code base}. */
    public static Optional<TemplateFile> shipped(String name) {
        String file = name + ".template";
        return Resources.find(file).map(text -> parse(file, text, Optional.empty()));
    }

    Script script(boolean fresh) {
        return new Script(source, false, directory, instructions, false, fresh ? 0 : Integer.MAX_VALUE, "");
    }
}

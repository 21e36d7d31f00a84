package dev.berth.sandbox.local.template;

import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.local.template.oci.ImageName;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** One instruction of a template file, with the line it stands on; or of a request, with the number of the step. */
public sealed interface Instruction {
    int line();

    /** As it is shown to people. */
    String text();

    /** Where the root filesystem comes from: always the first instruction. */
    sealed interface From extends Instruction {}

    /** A fresh Debian of a suite such as {@code bookworm}. */
    record FromDebian(int line, String suite) implements From {
        @Override
        public String text() {
            return "from debian:" + suite;
        }
    }

    /** Another template. */
    record FromTemplate(int line, TemplateName template) implements From {
        @Override
        public String text() {
            return "from " + template;
        }
    }

    /** An image of a registry. */
    record FromImage(int line, ImageName image, Optional<TemplateSpec.Credentials> credentials) implements From {
        @Override
        public String text() {
            return "from " + image;
        }
    }

    /** Installs Debian packages. */
    record Packages(int line, List<String> names) implements Instruction {
        public Packages {
            names = List.copyOf(names);
        }

        @Override
        public String text() {
            return "package " + String.join(" ", names);
        }
    }

    /** Copies a file or the content of a directory, which lies beside the template file. */
    record Copy(int line, String source, String target) implements Instruction {
        @Override
        public String text() {
            return "copy " + source + " " + target;
        }
    }

    /** Puts what an archive has into the root filesystem, see {@link TemplateSpec.Copy}. */
    record Unpack(int line, Path archive, String source, String target, Optional<String> owner, OptionalInt mode)
            implements Instruction {
        @Override
        public String text() {
            return "copy " + source + " " + target;
        }
    }

    /** Runs a command in the root filesystem, as a certain user or as that of the steps. */
    record Run(int line, String command, Optional<String> as) implements Instruction {
        Run(int line, String command) {
            this(line, command, Optional.empty());
        }

        @Override
        public String text() {
            return "run " + command;
        }
    }

    /**
     * Sets a variable for the steps that follow and for the sandboxes' commands.
     *
     * @param expands whether {@code $NAME} in it is what was set before
     */
    record Env(int line, String name, String value, boolean expands) implements Instruction {
        Env(int line, String name, String value) {
            this(line, name, value, false);
        }

        @Override
        public String text() {
            return "env " + name + "=" + value;
        }
    }

    /** Where the following steps and the sandboxes' commands start. Made when it is not there. */
    record Workdir(int line, String path) implements Instruction {
        @Override
        public String text() {
            return "workdir " + path;
        }
    }

    /**
     * Whom the following steps and the sandboxes' commands run as.
     *
     * @param made whether one is made if there is none of that name
     */
    record User(int line, String name, boolean made) implements Instruction {
        User(int line, String name) {
            this(line, name, false);
        }

        @Override
        public String text() {
            return "user " + name;
        }
    }

    /** What a sandbox runs as soon as it is there. */
    record Start(int line, String command) implements Instruction {
        @Override
        public String text() {
            return "start " + command;
        }
    }

    /** What ends with 0 once that which a sandbox runs at its start is up to its work. */
    record Ready(int line, String command) implements Instruction {
        @Override
        public String text() {
            return "ready " + command;
        }
    }
}

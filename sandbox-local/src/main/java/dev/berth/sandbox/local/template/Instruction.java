package dev.berth.sandbox.local.template;

import java.util.List;

/** One instruction of a template file, with the line it stands on. */
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

    /** Runs a command in the root filesystem. */
    record Run(int line, String command) implements Instruction {
        @Override
        public String text() {
            return "run " + command;
        }
    }

    /** Sets a variable for the steps that follow and for the sandboxes' commands. */
    record Env(int line, String name, String value) implements Instruction {
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

    /** Whom the following steps and the sandboxes' commands run as. */
    record User(int line, String name) implements Instruction {
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
}

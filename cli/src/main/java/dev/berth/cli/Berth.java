package dev.berth.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.SandboxException;
import java.io.PrintWriter;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code berth} command. */
@Command(
        name = "berth",
        description = "A persistent Linux computer for every conversation of an AI agent.",
        mixinStandardHelpOptions = true,
        versionProvider = Berth.Version.class,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            RunCommand.class,
            LsCommand.class,
            RmCommand.class,
            TemplateCommand.class,
            DoctorCommand.class,
            RehearseCommand.class
        },
        footer = {
            "",
            "The launcher adds:",
            "  build      Build now, whether or not sources changed.",
            "  test       Build and run every test.",
            "",
            "Examples:",
            "  berth run 'echo hello from a sandbox'",
            "  berth run -it --memory 1g bash",
            "  berth doctor",
            "",
            "Environment:",
            "  BERTH_DATA       where sandboxes live (--data), /var/lib/berth if not set",
            "  BERTH_TEMPLATES  where templates live, <data>/templates if not set",
            "  BERTH_RUNTIME    crun, runc or runsc (--runtime), crun if not set",
            "",
            "Exit codes, besides those of the command that was run:",
            "  0 done  2 invalid  66 not found  67 gone  69 unavailable  70 a fault in berth  73 conflict",
            "  75 limit  77 denied  78 unsupported  124 timeout  126 not executable  127 no such command",
            "  128+n ended by signal n",
        })
public final class Berth implements Runnable {
    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    CommandSpec spec;

    public static void main(String[] args) {
        CommandLine cli =
                commandLine(new PrintWriter(System.out, true, UTF_8), new PrintWriter(System.err, true, UTF_8));
        System.exit(cli.execute(args));
    }

    static CommandLine commandLine(PrintWriter out, PrintWriter err) {
        return new CommandLine(new Berth())
                .setOut(out)
                .setErr(err)
                .setUsageHelpWidth(100)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler((e, args) -> refuse(e))
                .setExecutionExceptionHandler((e, cli, parsed) -> fail(e, cli.getErr()));
    }

    /** Without a command it says what commands there are. */
    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    private static int refuse(ParameterException e) {
        CommandLine cli = e.getCommandLine();
        cli.getErr().println("berth: " + e.getMessage());
        if (!UnmatchedArgumentException.printSuggestions(e, cli.getErr())) {
            cli.getErr().println("See '" + cli.getCommandSpec().qualifiedName() + " --help'.");
        }
        return ExitCodes.INVALID;
    }

    private static int fail(Exception e, PrintWriter err) {
        if (e instanceof SandboxException known) {
            err.println("berth: " + known.getMessage());
            return ExitCodes.of(known.code());
        }
        err.println("berth: this should not have happened; please report it with these lines:");
        e.printStackTrace(err);
        return ExitCodes.FAULT;
    }

    /** The version that the build wrote into the jar. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Optional.ofNullable(Berth.class.getPackage().getImplementationVersion())
                    .orElse("(not packaged)");
            return new String[] {"berth " + version};
        }
    }
}

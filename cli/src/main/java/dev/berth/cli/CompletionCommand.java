package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** {@code berth completion}: scripts by which shells complete commands, options and the names of sessions. */
final class CompletionCommand implements Subcommand {
    private static final List<String> SHELLS = List.of("bash", "zsh", "fish");

    private final Supplier<List<Subcommand>> commands;

    CompletionCommand(Supplier<List<Subcommand>> commands) {
        this.commands = commands;
    }

    @Override
    public Syntax syntax() {
        return new Syntax(
                "completion",
                "Print a script that completes commands, options and names of sessions.",
                List.of("bash|zsh|fish"),
                new Operands(1, 1, false),
                List.of(),
                List.of(
                        "Examples:",
                        "  source <(berth completion bash)                             # now; or in ~/.bashrc",
                        "  berth completion zsh > ~/.zsh/completions/_berth           # a directory of fpath",
                        "  berth completion fish > ~/.config/fish/completions/berth.fish"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        String script = switch (arguments.operands().getFirst()) {
            case "bash" -> bash();
            case "zsh" -> zsh();
            case "fish" -> fish();
            case String other -> throw new UsageException("there is no '" + other + "' here; take one of " + SHELLS);
        };
        console.out().print(script);
        console.out().flush();
        return 0;
    }

    private List<Syntax> shown() {
        return commands.get().stream()
                .map(Subcommand::syntax)
                .filter(syntax -> !syntax.summary().isEmpty())
                .toList();
    }

    /** The words that may come first, with what they mean; a group stands for all of its commands. */
    private Map<String, String> first() {
        Map<String, String> first = new TreeMap<>();
        for (Syntax syntax : shown()) {
            String[] words = syntax.name().split(" ");
            first.merge(words[0], words.length == 1 ? syntax.summary() : "", (a, b) -> a.isEmpty() ? b : a);
        }
        return first;
    }

    private Map<String, List<String>> second() {
        Map<String, List<String>> second = new TreeMap<>();
        for (Syntax syntax : shown()) {
            String[] words = syntax.name().split(" ");
            if (words.length > 1) {
                second.computeIfAbsent(words[0], _ -> new ArrayList<>()).add(words[1]);
            }
        }
        return second;
    }

    private static String options(Syntax syntax) {
        return Stream.concat(syntax.options().stream(), Stream.of(Syntax.HELP))
                .flatMap(option -> option.names().stream())
                .filter(name -> name.startsWith("--"))
                .collect(Collectors.joining(" "));
    }

    private static boolean takesSession(Syntax syntax) {
        return syntax.synopsis().getFirst().contains("KEY") && !syntax.name().equals("session new");
    }

    /** For both: zsh reads bash's completion functions, once it is told to. */
    private String bash() {
        StringBuilder script = new StringBuilder();
        script.append("# Completes berth; made by 'berth completion bash'.\n_berth() {\n");
        script.append("  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} words='' sessions=''\n");
        script.append("  if ((COMP_CWORD == 1)); then\n    words='")
                .append(String.join(" ", first().keySet()))
                .append("'\n  else\n    case $command in\n");
        second().forEach((group, verbs) -> script.append("      ")
                .append(group)
                .append(")\n        if ((COMP_CWORD == 2)); then words='")
                .append(String.join(" ", verbs))
                .append("'; else command=\"$command ${COMP_WORDS[2]}\"; fi ;;\n"));
        script.append("    esac\n    case $command in\n");
        for (Syntax syntax : shown()) {
            script.append("      '")
                    .append(syntax.name())
                    .append("') words='")
                    .append(options(syntax))
                    .append('\'');
            script.append(takesSession(syntax) ? " sessions=yes ;;\n" : " ;;\n");
        }
        script.append("""
                    esac
                  fi
                  if [[ $sessions && $current != -* ]]; then
                    # What comes from a server is only ever compared and shown, never evaluated.
                    mapfile -t COMPREPLY < <(
                      berth session ls -q 2>/dev/null | while IFS= read -r name; do
                        [[ $name == "$current"* ]] && printf '%s\\n' "$name"
                      done
                    )
                    # bash takes a colon for the end of a word, so what is before the last one is there already.
                    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
                      COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
                    fi
                  else
                    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
                  fi
                }
                complete -o default -F _berth berth
                """);
        return script.toString();
    }

    private String zsh() {
        StringBuilder script = new StringBuilder("#compdef berth\n");
        script.append("# Completes berth; made by 'berth completion zsh'.\n_berth() {\n  local command=${words[2]-}\n");
        script.append("  local -a options sessions\n  if ((CURRENT == 2)); then\n    local -a commands=(\n");
        first().forEach((word, summary) -> script.append("      ")
                .append(quoted(summary.isEmpty() ? word : word + ":" + summary))
                .append('\n'));
        script.append("    )\n    _describe command commands\n    return\n  fi\n  case $command in\n");
        second().forEach((group, verbs) -> script.append("    ")
                .append(group)
                .append(")\n      if ((CURRENT == 3)); then compadd -- ")
                .append(String.join(" ", verbs))
                .append("; return; fi\n      command=\"$command ${words[3]}\" ;;\n"));
        script.append("  esac\n  case $command in\n");
        for (Syntax syntax : shown()) {
            script.append("    '")
                    .append(syntax.name())
                    .append("') options=(")
                    .append(options(syntax))
                    .append(')');
            script.append(
                    takesSession(syntax) ? " sessions=(${(f)\"$(berth session ls -q 2>/dev/null)\"}) ;;\n" : " ;;\n");
        }
        script.append("""
                  esac
                  if [[ $PREFIX == -* ]]; then
                    compadd -- $options
                  else
                    compadd -- $sessions
                    _files
                  fi
                }
                if [[ $funcstack[1] == _berth ]]; then
                  _berth "$@"
                else
                  compdef _berth berth
                fi
                """);
        return script.toString();
    }

    private String fish() {
        StringBuilder script = new StringBuilder("# Completes berth; made by 'berth completion fish'.\n");
        first().forEach((word, summary) -> script.append("complete -c berth -f -n __fish_use_subcommand -a ")
                .append(word)
                .append(summary.isEmpty() ? "" : " -d " + quoted(summary))
                .append('\n'));
        second().forEach((group, verbs) -> script.append("complete -c berth -f -n '__fish_seen_subcommand_from ")
                .append(group)
                .append("; and not __fish_seen_subcommand_from ")
                .append(String.join(" ", verbs))
                .append("' -a '")
                .append(String.join(" ", verbs))
                .append("'\n"));
        for (Syntax syntax : shown()) {
            String seen = Stream.of(syntax.name().split(" "))
                    .map(word -> "__fish_seen_subcommand_from " + word)
                    .collect(Collectors.joining("; and "));
            for (Option<?> option : syntax.options()) {
                String name = option.names().getLast();
                if (name.startsWith("--")) {
                    script.append("complete -c berth -n '")
                            .append(seen)
                            .append("' -l ")
                            .append(name.substring(2))
                            .append(option.label().isEmpty() ? "" : " -r")
                            .append(" -d ")
                            .append(quoted(option.description()))
                            .append('\n');
                }
            }
            if (takesSession(syntax)) {
                script.append("complete -c berth -n '")
                        .append(seen)
                        .append("' -a '(berth session ls -q 2>/dev/null)'\n");
            }
        }
        return script.toString();
    }

    /** For all three shells. */
    private static String quoted(String text) {
        return "'" + text.replace("'", "") + "'";
    }
}

package dev.berth.gateway.secret;

import dev.berth.egress.policy.Binding;
import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Finds everything that is wrong with a secret. What it says never has the value in it. */
final class SecretCheck {
    private static final int MOST_BYTES = 64 << 10;
    private static final Pattern HEADER_NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}");
    private static final Pattern TEMPLATE = Pattern.compile("[!-~]([ -~]{0,510}[!-~])?");
    private static final Pattern IN_HEADER = Pattern.compile("[!-~]([ -~]*[!-~])?");
    private static final Pattern USER = Pattern.compile("[ -9;-~]{0,256}");
    private static final Pattern PARAMETER = Pattern.compile("[A-Za-z0-9._~-]{1,128}");
    /** Without them as they are, or with others in them, hardly a program runs, or none finds its way out. */
    private static final Pattern NEEDED = Pattern.compile("PATH|HOME|USER|SHELL|LD_.*|BERTH_.*|.*_PROXY");

    private final PlainHosts plain;
    private final List<String> problems = new ArrayList<>();

    SecretCheck(PlainHosts plain) {
        this.plain = plain;
    }

    SecretCheck value(String value, List<SecretBinding> bindings) {
        int bytes = value.getBytes(StandardCharsets.UTF_8).length;
        if (bytes < 1 || bytes > MOST_BYTES) {
            problems.add("value: has to have 1 to " + MOST_BYTES + " bytes, not " + bytes);
        }
        if (value.chars().anyMatch(c -> c == '\r' || c == '\n' || c == 0)) {
            problems.add("value: must not have line ends or NUL in it; is there one at its end?");
        } else if (!StandardCharsets.UTF_8.newEncoder().canEncode(value)) {
            problems.add("value: is not Unicode text");
        } else if (bytes > 0
                && bindings.stream().anyMatch(SecretBinding::goesIntoHeader)
                && !IN_HEADER.matcher(value).matches()) {
            problems.add(
                    "value: goes into a header, so it may only have printable ASCII characters, and no space at its"
                            + " ends");
        }
        return this;
    }

    SecretCheck env(String variable) {
        if (NEEDED.matcher(variable.toUpperCase(Locale.ROOT)).matches()) {
            problems.add("env: " + variable + " has another use in a sandbox; take another variable");
        }
        return this;
    }

    SecretCheck bindings(List<SecretBinding> bindings) {
        for (int i = 0; i < bindings.size(); i++) {
            binding("bindings[" + i + "]", bindings.get(i));
        }
        return this;
    }

    /** Fails with all that was found. */
    void done() {
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with("errors", List.copyOf(problems));
        }
    }

    private void binding(String where, SecretBinding binding) {
        if (binding.hosts().isEmpty()) {
            problems.add(where + ".hosts: name at least one host");
        }
        each(where + ".hosts", binding.hosts(), host -> host(host, binding.isPlain()));
        List<Integer> ports = binding.ports();
        if (ports != null) {
            each(where + ".ports", ports, port -> new Rule("x", List.of(port), List.of(), List.of()));
        }
        List<String> methods = binding.methods();
        if (methods != null) {
            each(where + ".methods", methods, method -> new Rule("x", List.of(), List.of(method), List.of()));
        }
        List<String> paths = binding.paths();
        if (paths != null) {
            each(where + ".paths", paths, path -> new Rule("x", List.of(), List.of(), List.of(path)));
        }
        place(where, binding);
    }

    private <T> void each(String where, List<T> items, Function<T, Object> check) {
        for (int i = 0; i < items.size(); i++) {
            try {
                var _ = check.apply(items.get(i));
            } catch (SandboxException e) {
                problems.add(where + "[" + i + "]: " + e.getMessage());
            }
        }
    }

    private Domain host(String text, boolean withoutTls) {
        if (!(Destination.parse(text) instanceof Domain host)) {
            throw SandboxException.invalid(
                    "'" + text + "' is an address; a secret is bound to names, which TLS can prove");
        }
        if (withoutTls && !plain.covers(host)) {
            throw SandboxException.invalid("the operator does not let secrets go to " + host
                    + " without TLS; leave plain out, or have it added to egress.plain-secrets");
        }
        return host;
    }

    private void place(String where, SecretBinding binding) {
        long places = Stream.of(binding.header() != null, binding.basic() != null, binding.query() != null)
                .filter(there -> there)
                .count();
        if (places > 1) {
            problems.add(where + ": take one of header, basic and query; for two of them make two bindings");
        }
        SecretBinding.Header header = binding.header();
        if (header != null) {
            header(where + ".header", header);
        }
        SecretBinding.Basic basic = binding.basic();
        if (basic != null && !USER.matcher(basic.user()).matches()) {
            problems.add(where + ".basic.user: has printable ASCII characters without a colon, 256 at most");
        }
        SecretBinding.Query query = binding.query();
        if (query != null && !PARAMETER.matcher(query.name()).matches()) {
            problems.add(where + ".query.name: has 1 to 128 letters, digits and . _ ~ -");
        }
    }

    private void header(String where, SecretBinding.Header header) {
        if (!HEADER_NAME.matcher(header.name()).matches()) {
            problems.add(where + ".name: is not the name of a header, such as Authorization");
        } else if (Binding.travels(header.name())) {
            problems.add(where + ".name: " + header.name() + " is not for secrets, as it says how a request travels");
        }
        if (!TEMPLATE.matcher(header.value()).matches()) {
            problems.add(where + ".value: has printable ASCII characters and no space at its ends, 512 at most");
        } else if (header.value().split("\\{\\}", -1).length != 2) {
            problems.add(where + ".value: has to have {} in it once, where the secret goes, such as 'Bearer {}'");
        }
    }
}

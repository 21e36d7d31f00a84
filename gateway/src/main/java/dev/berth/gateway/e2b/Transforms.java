package dev.berth.gateway.e2b;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Binding.Piece;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.gateway.secret.Secret;
import dev.berth.gateway.secret.Secrets;
import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.session.SessionKey;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Headers that are set in what a sandbox sends to a host: {@code {"api.example.com": [{"transform": {"headers": {…}}}]}}.
 * Their values may name secrets, which are put in on the way out and nowhere else.
 */
public final class Transforms {
    /** In a network, before the names of secrets that only its headers use; no secret itself can be called so. */
    static final String PREFIX = "e2b/";
    /** In a network, that its sandbox has headers. */
    static final String NAME = PREFIX + "rules";

    private static final Pattern SECRET = Pattern.compile("\\$\\{e2b\\.secrets\\.([^{}]*)}");
    private static final Pattern IDENTITY = Pattern.compile("\\$\\{e2b\\.identity\\.");
    private static final Pattern HEADER_NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}");
    private static final Pattern HEADER_VALUE = Pattern.compile("[!-~]([ -~]*[!-~])?");

    private static final int MOST_HOSTS = 10;
    private static final int LONGEST_HOST = 128;
    private static final int MOST_HEADERS = 20;
    private static final int LONGEST_VALUE = 2048;

    private final TransformTable table;
    private final Secrets secrets;

    public Transforms(TransformTable table, Secrets secrets) {
        this.table = table;
        this.secrets = secrets;
    }

    /**
     * One header for one host.
     *
     * @param value as it was given
     * @param pieces the same, with the secrets by the names that this server has for them
     */
    public record Header(String host, String name, String value, List<Piece> pieces) {
        public Header {
            pieces = List.copyOf(pieces);
        }

        Set<String> secrets() {
            Set<String> names = new LinkedHashSet<>();
            pieces.stream().filter(Piece::secret).forEach(piece -> names.add(piece.text()));
            return names;
        }

        /** Without the value, which may be a key. */
        @Override
        public String toString() {
            return "Header[" + host + ", " + name + "]";
        }

        /** @param placeholder that nobody has, as nothing inside stands for a header that is set */
        Binding bound(String placeholder) {
            Domain to = (Domain) Destination.parse(host);
            return new Binding(
                    NAME,
                    placeholder,
                    List.of(to),
                    List.of(443),
                    List.of(),
                    List.of(),
                    new Place.Set(name, pieces),
                    false);
        }
    }

    /** What a network has to name so that these are set. */
    static List<String> names(List<Header> headers) {
        return Stream.concat(Stream.of(NAME), headers.stream().flatMap(header -> header.secrets().stream()))
                .distinct()
                .toList();
    }

    void keep(SessionKey session, List<Header> headers) {
        table.put(session, headers);
    }

    List<Header> of(SessionKey session) {
        return table.get(session);
    }

    /** @param values whether they are shown; empty ones are instead, as nobody can set such by mistake */
    static ObjectNode show(List<Header> headers, boolean values) {
        ObjectNode hosts = JsonNodeFactory.instance.objectNode();
        for (Header header : headers) {
            if (!(hosts.path(header.host()).path(0).path("transform").path("headers") instanceof ObjectNode)) {
                hosts.putArray(header.host()).addObject().putObject("transform").putObject("headers");
            }
            ((ObjectNode) hosts.path(header.host()).path(0).path("transform").path("headers"))
                    .put(header.name(), values ? header.value() : "");
        }
        return hosts;
    }

    // ---- reading -------------------------------------------------------------------------------------------------

    List<Header> read(String tenant, JsonNode rules) {
        if (rules.isMissingNode() || rules.isNull()) {
            return List.of();
        }
        if (!rules.isObject() || rules.size() > MOST_HOSTS) {
            throw new E2bError(400, "network.rules must be an object of at most " + MOST_HOSTS + " hosts");
        }
        List<Header> headers = new ArrayList<>();
        List<Domain> hosts = new ArrayList<>();
        for (Map.Entry<String, JsonNode> rule : rules.properties()) {
            Domain host = host(rule.getKey());
            for (Domain other : hosts) {
                if (Addresses.covers(host, other) || Addresses.covers(other, host)) {
                    throw new E2bError(
                            400,
                            "network.rules: " + host + " and " + other + " are for the same hosts, which is not"
                                    + " supported here; name each host once");
                }
            }
            hosts.add(host);
            headers.addAll(headers(tenant, host, rule.getValue()));
        }
        return headers;
    }

    private static Domain host(String key) {
        if (key.length() <= LONGEST_HOST && Addresses.read("rules", key) instanceof Domain domain) {
            return domain;
        }
        throw new E2bError(
                400, "network.rules: \"" + key + "\" is not a domain, such as api.example.com or *.example.com");
    }

    private List<Header> headers(String tenant, Domain host, JsonNode list) {
        if (!list.isArray() || list.size() > 1) {
            throw new E2bError(400, "network.rules: " + host + " must have a list of at most 1 rule");
        }
        JsonNode given = list.path(0).path("transform").path("headers");
        if (!given.isMissingNode() && !given.isNull() && (!given.isObject() || given.size() > MOST_HEADERS)) {
            throw new E2bError(
                    400, "network.rules: headers of " + host + " must be an object of at most " + MOST_HEADERS);
        }
        List<Header> headers = new ArrayList<>();
        Set<String> names = new LinkedHashSet<>();
        for (Map.Entry<String, JsonNode> header : given.properties()) {
            String name = header.getKey();
            if (!HEADER_NAME.matcher(name).matches()
                    || Binding.travels(name)
                    || !names.add(name.toLowerCase(Locale.ROOT))) {
                throw new E2bError(400, "network.rules: \"" + name + "\" is not a header that can be set once");
            }
            String value = header.getValue().isString() ? header.getValue().asString() : "";
            if (value.length() > LONGEST_VALUE || !HEADER_VALUE.matcher(value).matches()) {
                throw new E2bError(
                        400,
                        "network.rules: the value of " + name + " for " + host + " must be a text of 1 to "
                                + LONGEST_VALUE + " printable characters");
            }
            headers.add(new Header(host.toString(), name, value, pieces(tenant, name, value)));
        }
        return headers;
    }

    private List<Piece> pieces(String tenant, String name, String value) {
        if (IDENTITY.matcher(value).find()) {
            throw new E2bError(
                    400, "network.rules: workload identity tokens (iam), as in " + name + ", are not supported here");
        }
        List<Piece> pieces = new ArrayList<>();
        Matcher matcher = SECRET.matcher(value);
        int from = 0;
        while (matcher.find()) {
            String label = matcher.group(1);
            Secret secret = secrets.known(tenant, label)
                    .orElseThrow(() -> new E2bError(400, "network.rules: there is no secret \"" + label + "\""));
            text(pieces, value.substring(from, matcher.start()));
            pieces.add(new Piece(PREFIX + secret.name(), true));
            from = matcher.end();
        }
        text(pieces, value.substring(from));
        return pieces;
    }

    private static void text(List<Piece> pieces, String text) {
        if (!text.isEmpty()) {
            pieces.add(new Piece(text, false));
        }
    }
}

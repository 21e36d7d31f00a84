package dev.berth.gateway.secret;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Domain;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where a secret may go, as its owner says it; what is not said is null. One of the three places, or none, which is a
 * bearer token.
 *
 * @param plain whether it may go without TLS too
 */
public record SecretBinding(
        List<String> hosts,
        @Nullable List<Integer> ports,
        @Nullable List<String> methods,
        @Nullable List<String> paths,
        @Nullable Header header,
        @Nullable Basic basic,
        @Nullable Query query,
        @Nullable Boolean plain) {

    /** @param value with {@code {}} where the secret goes */
    public record Header(String name, String value) {
        static final Header BEARER = new Header("Authorization", "Bearer {}");
    }

    /** The secret is the password. */
    public record Basic(String user) {}

    /** A parameter of the address. */
    public record Query(String name) {}

    private static final List<Integer> TLS_PORTS = List.of(443);
    private static final List<Integer> PORTS = List.of(80, 443);

    public SecretBinding {
        hosts = List.copyOf(hosts);
        ports = ports == null ? null : List.copyOf(ports);
        methods = methods == null ? null : List.copyOf(methods);
        paths = paths == null ? null : List.copyOf(paths);
    }

    public boolean isPlain() {
        return plain != null && plain;
    }

    boolean goesIntoHeader() {
        return header != null || (basic == null && query == null);
    }

    /** The same with everything said, and hosts as they are compared. It has to be right. */
    SecretBinding complete() {
        return new SecretBinding(
                domains().stream().map(Domain::toString).distinct().toList(),
                Optional.ofNullable(ports)
                        .filter(some -> !some.isEmpty())
                        .map(some -> some.stream().distinct().sorted().toList())
                        .orElse(isPlain() ? PORTS : TLS_PORTS),
                methods == null ? List.of() : methods.stream().distinct().toList(),
                paths == null ? List.of() : paths.stream().distinct().toList(),
                header == null && goesIntoHeader() ? Header.BEARER : header,
                basic,
                query,
                isPlain());
    }

    List<Domain> domains() {
        return hosts.stream()
                .map(Destination::parse)
                .filter(Domain.class::isInstance)
                .map(Domain.class::cast)
                .toList();
    }

    /**
     * As the way out knows it.
     *
     * @param plainToo whether the operator lets it go without TLS
     */
    Binding bound(String secret, String placeholder, boolean plainToo) {
        SecretBinding whole = complete();
        return new Binding(
                secret,
                placeholder,
                whole.domains(),
                whole.ports == null ? List.of() : whole.ports,
                whole.methods == null ? List.of() : whole.methods,
                whole.paths == null ? List.of() : whole.paths,
                whole.place(),
                plainToo);
    }

    private Place place() {
        if (query != null) {
            return new Place.Query(query.name());
        }
        if (basic != null) {
            return new Place.Basic(basic.user());
        }
        Header in = header == null ? Header.BEARER : header;
        return new Place.Header(in.name(), in.value());
    }
}

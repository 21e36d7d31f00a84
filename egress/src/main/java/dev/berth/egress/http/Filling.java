package dev.berth.egress.http;

import dev.berth.egress.http.Head.Field;
import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.egress.policy.Target;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Puts the secrets of one request in, each in its place, and sees to it that no placeholder goes on in any other. */
final class Filling {
    private static final String AUTHORIZATION = "Authorization";
    private static final String BASIC = "basic ";

    private final Policy policy;
    private final Target target;
    private final boolean tls;
    private final List<Binding> bindings;
    private final Set<String> used = new LinkedHashSet<>();
    private final Set<String> spellings = new LinkedHashSet<>();
    private Head head;

    private Filling(Policy policy, Target target, boolean tls, Head head) {
        this.policy = policy;
        this.target = target;
        this.tls = tls;
        this.bindings = policy.bindings();
        this.head = head;
    }

    /** @param tls whether it goes on in TLS that will be verified */
    static Filled fill(Policy policy, Target target, boolean tls, Head head) throws Refusal {
        Filling filling = new Filling(policy, target, tls, head);
        for (Binding binding : filling.bindings) {
            if (binding.covers(target, head.method(), head.path())) {
                filling.fill(binding);
            }
        }
        filling.refuseStrays();
        return new Filled(
                filling.head,
                filling.used,
                filling.spellings.stream()
                        .map(text -> text.getBytes(StandardCharsets.UTF_8))
                        .toList());
    }

    private void fill(Binding binding) throws Refusal {
        switch (binding.place()) {
            case Place.Header place -> fillHeader(binding, place);
            case Place.Basic place -> fillBasic(binding, place);
            case Place.Query place -> fillQuery(binding, place);
            case Place.Set place -> set(place);
        }
    }

    // ---- places --------------------------------------------------------------------------------------------------

    private void fillHeader(Binding binding, Place.Header place) throws Refusal {
        boolean absent = head.fields().stream().noneMatch(field -> field.is(place.name()));
        boolean wanted = head.fields().stream()
                .anyMatch(field -> field.is(place.name()) && field.value().contains(binding.placeholder()));
        Optional<String> value = value(binding, wanted, absent);
        if (value.isEmpty()) {
            return;
        }
        String secret = printable(binding.secret(), value.get());
        if (absent) {
            add(new Field(place.name(), place.template().replace("{}", secret)));
        } else {
            change(place.name(), text -> text.replace(binding.placeholder(), secret));
        }
        put(binding, secret);
    }

    private void fillBasic(Binding binding, Place.Basic place) throws Refusal {
        boolean absent = head.fields().stream().noneMatch(field -> field.is(AUTHORIZATION));
        Optional<String> user = head.fields().stream()
                .filter(field -> field.is(AUTHORIZATION))
                .flatMap(field -> credentials(field.value()).stream())
                .filter(text -> text.endsWith(":" + binding.placeholder()))
                .map(text -> text.substring(0, text.indexOf(':')))
                .findFirst();
        Optional<String> value = value(binding, user.isPresent(), absent);
        if (value.isEmpty()) {
            return;
        }
        String whole = user.orElse(place.user()) + ":" + value.get();
        String encoded = Base64.getEncoder().encodeToString(whole.getBytes(StandardCharsets.UTF_8));
        if (absent) {
            add(new Field(AUTHORIZATION, "Basic " + encoded));
        } else {
            change(
                    AUTHORIZATION,
                    text -> credentials(text)
                                    .filter(was -> was.equals(user.orElseThrow() + ":" + binding.placeholder()))
                                    .isPresent()
                            ? "Basic " + encoded
                            : text);
        }
        put(binding, value.get());
        // Without its end, which looks different when more follows.
        spellings.add(encoded.replace("=", ""));
    }

    private void fillQuery(Binding binding, Place.Query place) throws Refusal {
        List<String> parts =
                head.query().map(query -> List.of(query.split("&", -1))).orElse(List.of());
        boolean absent = parts.stream().noneMatch(part -> isParameter(part, place.name()));
        boolean wanted = parts.stream()
                .anyMatch(
                        part -> isParameter(part, place.name()) && decoded(part).contains(binding.placeholder()));
        Optional<String> value = value(binding, wanted, absent);
        if (value.isEmpty()) {
            return;
        }
        String secret = encoded(value.get());
        List<String> filled = new ArrayList<>();
        for (String part : parts) {
            filled.add(
                    isParameter(part, place.name())
                            ? part.replace(binding.placeholder(), secret)
                                    .replace(encoded(binding.placeholder()), secret)
                            : part);
        }
        if (absent) {
            filled.removeIf(String::isEmpty);
            filled.add(encoded(place.name()) + "=" + secret);
        }
        head = new Head(head.method(), head.path(), Optional.of(String.join("&", filled)), head.fields());
        put(binding, value.get());
    }

    private void set(Place.Set place) throws Refusal {
        if (!tls) {
            return;
        }
        StringBuilder value = new StringBuilder();
        for (Binding.Piece piece : place.pieces()) {
            value.append(piece.secret() ? revealed(piece.text()) : piece.text());
        }
        head = new Head(
                head.method(),
                head.path(),
                head.query(),
                Stream.concat(
                                head.fields().stream().filter(field -> !field.is(place.name())),
                                Stream.of(new Field(place.name(), value.toString())))
                        .toList());
    }

    private String revealed(String secret) throws Refusal {
        String value = policy.reveal(secret)
                .orElseThrow(() -> new Refusal(
                        Reason.SECRET_GONE,
                        "the secret " + secret + " is not there any more; whoever keeps the secrets can set it"));
        used.add(secret);
        spellings.addAll(Spellings.of(value));
        return printable(secret, value);
    }

    /**
     * @param wanted whether its placeholder stands in its place
     * @param absent whether nothing does
     * @return empty if there is nothing to put in
     */
    private Optional<String> value(Binding binding, boolean wanted, boolean absent) throws Refusal {
        if (!wanted && !absent) {
            return Optional.empty();
        }
        if (!tls && !binding.plain()) {
            if (wanted) {
                throw new Refusal(
                        Reason.NOT_ENCRYPTED,
                        "the secret " + binding.secret() + " is not sent to " + target
                                + " without TLS; use an https address");
            }
            return Optional.empty();
        }
        Optional<String> value = policy.reveal(binding.secret());
        if (value.isEmpty() && wanted) {
            throw new Refusal(
                    Reason.SECRET_GONE,
                    "the secret " + binding.secret() + " is not there any more; whoever keeps the secrets can set it");
        }
        return value;
    }

    private void put(Binding binding, String value) {
        used.add(binding.secret());
        spellings.addAll(Spellings.of(value));
    }

    private static String printable(String name, String value) throws Refusal {
        if (!value.chars().allMatch(c -> c >= ' ' && c <= '~')) {
            throw new Refusal(
                    Reason.UNAVAILABLE,
                    "the secret " + name + " has characters that a header cannot carry; it has to be set" + " again");
        }
        return value;
    }

    private void add(Field field) {
        head = new Head(
                head.method(),
                head.path(),
                head.query(),
                Stream.concat(head.fields().stream(), Stream.of(field)).toList());
    }

    private void change(String name, UnaryOperator<String> change) {
        head = new Head(
                head.method(),
                head.path(),
                head.query(),
                head.fields().stream()
                        .map(field -> field.is(name) ? new Field(field.name(), change.apply(field.value())) : field)
                        .toList());
    }

    // ---- strays --------------------------------------------------------------------------------------------------

    private void refuseStrays() throws Refusal {
        for (Binding binding : bindings) {
            String placeholder = binding.placeholder();
            boolean stray = head.path().contains(placeholder)
                    || decoded(head.path()).contains(placeholder)
                    || head.query()
                            .filter(query -> query.contains(placeholder)
                                    || decoded(query).contains(placeholder))
                            .isPresent()
                    || head.fields().stream().anyMatch(field -> holds(field, placeholder));
            if (stray) {
                throw stray(binding, target);
            }
        }
    }

    private static boolean holds(Field field, String placeholder) {
        return field.value().contains(placeholder)
                || field.name().contains(placeholder)
                || (field.is(AUTHORIZATION)
                        && credentials(field.value())
                                .filter(text -> text.contains(placeholder))
                                .isPresent());
    }

    static Refusal stray(Binding binding, Target target) {
        return new Refusal(
                Reason.PLACEHOLDER,
                "this request to " + target + " has what stands for the secret " + binding.secret()
                        + " where that does not go; it was not sent");
    }

    // ---- how things are written ----------------------------------------------------------------------------------

    /** User and password of basic authentication. */
    private static Optional<String> credentials(String value) {
        if (!value.toLowerCase(Locale.ROOT).startsWith(BASIC)) {
            return Optional.empty();
        }
        try {
            byte[] bytes =
                    Base64.getDecoder().decode(value.substring(BASIC.length()).strip());
            return Optional.of(new String(bytes, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException _) {
            return Optional.empty(); // it is no such thing
        }
    }

    private static boolean isParameter(String part, String name) {
        int equals = part.indexOf('=');
        return decoded(equals < 0 ? part : part.substring(0, equals)).equals(name);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException _) {
            return text; // it has a percent sign that begins nothing, and stands for itself
        }
    }
}

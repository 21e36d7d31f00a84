package dev.berth.gateway.e2b;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Use;
import dev.berth.gateway.egress.SecretBook;
import dev.berth.gateway.secret.Secrets;
import dev.berth.session.SessionKey;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** The headers that sandboxes of E2B's clients have set, beside the secrets that networks name themselves. */
public final class TransformBook implements SecretBook {
    private final SecretBook others;
    private final TransformTable table;
    private final Secrets secrets;
    private final String placeholder;

    public TransformBook(SecretBook others, TransformTable table, Secrets secrets, RandomGenerator random) {
        this.others = others;
        this.table = table;
        this.secrets = secrets;
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        this.placeholder = "berth-header-" + HexFormat.of().formatHex(bytes);
    }

    /** Nobody asks for what is ours by its name; it comes with the sandbox. */
    @Override
    public void check(String tenant, List<String> names) {
        others.check(tenant, names);
    }

    @Override
    public List<Binding> bindings(SessionKey session, List<String> names) {
        List<Binding> bound = others.bindings(session, theirs(names));
        return names.contains(Transforms.NAME)
                ? Stream.concat(bound.stream(), table.get(session).stream().map(header -> header.bound(placeholder)))
                        .toList()
                : bound;
    }

    @Override
    public Optional<String> reveal(SessionKey session, String name) {
        return ours(name)
                ? secrets.reveal(session.tenant(), name.substring(Transforms.PREFIX.length()))
                : others.reveal(session, name);
    }

    @Override
    public Map<String, String> env(SessionKey session, List<String> names) {
        return others.env(session, theirs(names));
    }

    @Override
    public void used(SessionKey session, Use use) {
        if (ours(use.secret())) {
            secrets.used(session.tenant(), use.secret().substring(Transforms.PREFIX.length()));
        } else {
            others.used(session, use);
        }
    }

    private static boolean ours(String name) {
        return name.startsWith(Transforms.PREFIX);
    }

    private static List<String> theirs(List<String> names) {
        return names.stream().filter(name -> !ours(name)).toList();
    }
}

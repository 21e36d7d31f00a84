package dev.berth.egress.policy;

import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.PublicAddresses;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Collection;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Decides what passes.
 *
 * <p>A name is resolved here, once, and the addresses that were checked are the ones to connect to: what the name stands
 * for a moment later is of no matter.
 */
public final class Gate {
    private final Names names;
    private final Supplier<Collection<InetAddress>> own;
    private final IntPredicate listens;

    /** @param own the addresses of this machine, which are closed even if they are public */
    public Gate(Names names, Supplier<Collection<InetAddress>> own) {
        this(names, own, port -> false);
    }

    /** @param listens to which ports of this machine this very server listens; no rule opens them */
    public Gate(Names names, Supplier<Collection<InetAddress>> own, IntPredicate listens) {
        this.names = names;
        this.own = own;
        this.listens = listens;
    }

    /**
     * What may be connected to.
     *
     * @param addresses checked; at least one
     * @param inspected whether each request has to be {@linkplain Gate#request checked}, and TLS to be opened for it
     */
    public record Way(Target target, List<InetAddress> addresses, boolean inspected) {
        public Way {
            addresses = List.copyOf(addresses);
        }
    }

    /** What the rules say of a target, before it is known where it leads. */
    private final class Verdict {
        private final Network network;
        private final Target target;
        private final boolean bound;
        private final boolean opened;
        private final List<Rule> named;
        private final List<Cidr> ranges;
        private final List<Cidr> denied;

        Verdict(Policy policy, Target target) {
            this.network = policy.network();
            this.target = target;
            List<Binding> bindings = policy.bindings().stream()
                    .filter(binding -> binding.covers(target))
                    .toList();
            bound = !bindings.isEmpty();
            opened = bindings.stream().anyMatch(Binding::opens);
            List<Rule> rules = network.allow().stream()
                    .filter(rule -> rule.opens(target.port()))
                    .toList();
            named = target.domain()
                    .map(host -> rules.stream()
                            .filter(rule -> rule.destination() instanceof Domain domain && domain.covers(host))
                            .toList())
                    .orElse(List.of());
            ranges = rules.stream()
                    .map(Rule::destination)
                    .filter(Cidr.class::isInstance)
                    .map(Cidr.class::cast)
                    .toList();
            denied = network.denied();
        }

        /** Whether it may be reached wherever in the public internet it is. */
        boolean open() {
            return network.mode() == Network.Mode.OPEN || !named.isEmpty() || opened;
        }

        /** A range allows addresses, and no names: to resolve a name is to send it to whoever serves it. */
        boolean hopeless() {
            return network.mode() == Network.Mode.NONE
                    || (!open() && (ranges.isEmpty() || target.address().isEmpty()));
        }

        boolean allows(InetAddress address) {
            return !hopeless() && !loops(address) && (inRange(address) || (open() && reachable(address)));
        }

        boolean loops(InetAddress address) {
            InetAddress real = PublicAddresses.unwrapped(address);
            boolean here = real.isLoopbackAddress()
                    || real.isAnyLocalAddress()
                    || own.get().contains(real);
            return here && listens.test(target.port());
        }

        private boolean inRange(InetAddress address) {
            InetAddress real = PublicAddresses.unwrapped(address);
            return ranges.stream().anyMatch(range -> range.contains(real));
        }

        private boolean reachable(InetAddress address) {
            InetAddress real = PublicAddresses.unwrapped(address);
            return PublicAddresses.contains(address) && !own.get().contains(real) && !denies(address);
        }

        /** An address of IPv6 that only stands for one of IPv4 is denied as either. */
        boolean denies(InetAddress address) {
            InetAddress real = PublicAddresses.unwrapped(address);
            return denied.stream().anyMatch(range -> range.contains(real) || range.contains(address));
        }

        boolean inspected(List<InetAddress> addresses) {
            return bound
                    || (network.mode() == Network.Mode.RESTRICTED
                            && !named.isEmpty()
                            && named.stream().allMatch(Rule::looksInside)
                            && !addresses.stream().allMatch(this::inRange));
        }
    }

    /** Whether a program may have a connection, whatever it will say on it. */
    public Way connection(Policy policy, Target target) throws Refusal {
        Verdict verdict = new Verdict(policy, target);
        if (verdict.network.mode() == Network.Mode.NONE) {
            throw new Refusal(Reason.NO_NETWORK, "this sandbox has no network");
        }
        if (verdict.hopeless()) {
            throw notAllowed(target);
        }
        List<InetAddress> addresses = resolve(target);
        List<InetAddress> allowed = addresses.stream().filter(verdict::allows).toList();
        if (allowed.isEmpty()) {
            if (addresses.stream().anyMatch(verdict::loops)) {
                throw new Refusal(Reason.LOOP, target + " is this server itself, which no sandbox may reach");
            }
            if (addresses.stream().anyMatch(verdict::denies)) {
                throw new Refusal(Reason.NOT_ALLOWED, target + " is among the addresses that this sandbox is denied");
            }
            if (verdict.open()) {
                throw new Refusal(
                        Reason.PRIVATE_ADDRESS,
                        (target.address().isPresent()
                                        ? target.host() + " is"
                                        : target.host() + " leads to "
                                                + addresses.getFirst().getHostAddress() + ", which is")
                                + " not a public address; a rule with its range would allow it");
            }
            throw notAllowed(target);
        }
        return new Way(target, allowed, verdict.inspected(allowed));
    }

    /** Whether what was let through would be let through now, and no more closely looked at. */
    public boolean still(Policy policy, Way way) {
        Verdict verdict = new Verdict(policy, way.target());
        return way.addresses().stream().allMatch(verdict::allows)
                && (way.inspected() || !verdict.inspected(way.addresses()));
    }

    /** Whether a request may pass, on a connection that was let through. */
    public void request(Policy policy, Target target, String method, String path) throws Refusal {
        Network network = policy.network();
        if (network.mode() == Network.Mode.OPEN) {
            return;
        }
        List<Rule> rules = network.allow().stream()
                .filter(rule -> rule.opens(target.port()))
                .toList();
        Stream<Rule> named = rules.stream()
                .filter(rule -> rule.destination() instanceof Domain domain
                        && target.domain().filter(domain::covers).isPresent());
        Stream<Rule> bound = policy.bindings().stream()
                .filter(binding -> binding.opens() && binding.covers(target))
                .map(binding -> new Rule(target.host(), binding.ports(), binding.methods(), binding.paths()));
        List<Rule> looking = Stream.concat(named, bound).toList();
        boolean ranged = rules.stream().anyMatch(rule -> rule.destination() instanceof Cidr);
        if (looking.isEmpty() && ranged) {
            return; // its addresses were what was allowed
        }
        if (looking.stream().anyMatch(rule -> !rule.paths().isEmpty()) && ambiguous(path)) {
            throw new Refusal(
                    Reason.BAD_REQUEST,
                    "the path " + path + " can be read in more than one way; write it without dots, escapes of"
                            + " slashes and empty parts");
        }
        if (looking.stream().noneMatch(rule -> rule.allows(method, path))) {
            throw new Refusal(
                    Reason.NOT_ALLOWED,
                    method + " " + path + " on " + target + " is not among what this sandbox may do");
        }
    }

    /** Whether a server might take a path for another one than is checked here. */
    static boolean ambiguous(String path) {
        String lower = path.toLowerCase(java.util.Locale.ROOT);
        return lower.contains("//")
                || lower.contains("\\")
                || lower.contains("%2f")
                || lower.contains("%5c")
                || lower.contains("%2e")
                || lower.contains("%25")
                || lower.contains("%00")
                || lower.contains(";")
                || Stream.of(lower.split("/", -1)).anyMatch(part -> part.equals(".") || part.equals(".."));
    }

    private List<InetAddress> resolve(Target target) throws Refusal {
        if (target.address().isPresent()) {
            return List.of(target.address().get());
        }
        try {
            return names.resolve(target.host());
        } catch (UnknownHostException e) {
            throw new Refusal(Reason.UNKNOWN_HOST, "there is no host " + target.host(), e);
        }
    }

    private static Refusal notAllowed(Target target) {
        return new Refusal(Reason.NOT_ALLOWED, target + " is not among what this sandbox may reach");
    }
}

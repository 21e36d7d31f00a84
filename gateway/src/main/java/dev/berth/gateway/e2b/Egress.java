package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.egress.Networks;
import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.PublicAddresses;
import dev.berth.session.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * What sandboxes may reach, as E2B's clients say it.
 *
 * <p>E2B's sandboxes reach everything public unless somebody denies it; what is allowed goes before what is denied. So
 * denying everything makes a restricted network of what is allowed, and anything else an open one. A name is allowed on the
 * ports of the web, as E2B tells names by what web requests say; an address on every port.
 */
public final class Egress {
    private static final Cidr EVERYTHING = (Cidr) Destination.parse("0.0.0.0/0");
    /** E2B's sandboxes have no IPv6. A host that is denied by its old address is not to be reached by its new one. */
    private static final String NEW_ADDRESSES = "::/0";

    private static final List<String> KEPT = List.of("allowPublicTraffic", "maskRequestHost", "httpsPorts");
    private static final int MOST = 256;

    private final Networks networks;
    private final Set<Capability> capabilities;
    private final boolean internet;
    private final Transforms transforms;

    /**
     * @param capabilities of the provider
     * @param internet whether a sandbox reaches what is public where nobody says
     */
    public Egress(Networks networks, Set<Capability> capabilities, boolean internet, Transforms transforms) {
        this.networks = networks;
        this.capabilities = Set.copyOf(capabilities);
        this.internet = internet;
        this.transforms = transforms;
    }

    /**
     * What was asked for.
     *
     * @param given the network as it was given, but for its transforms, which may be keys
     * @param internet whether what is public can be reached, if that was said
     */
    public record Asked(
            Network network, Optional<ObjectNode> given, Optional<Boolean> internet, List<Transforms.Header> headers) {}

    /** Reads the network of a sandbox that is to be made. */
    public Asked create(Caller caller, ObjectNode body) {
        Optional<ObjectNode> given =
                Optional.of(body.path("network")).filter(JsonNode::isObject).map(ObjectNode.class::cast);
        if (given.isEmpty() && !absent(body.path("network"))) {
            throw new E2bError(400, "network must be an object");
        }
        return read(caller, given, flag(body));
    }

    /** Reads another network for a sandbox; of what it had, only what is not about its way out stays. */
    public Asked update(Caller caller, Optional<ObjectNode> before, ObjectNode update) {
        ObjectNode given = JsonNodeFactory.instance.objectNode();
        before.ifPresent(old -> KEPT.stream()
                .filter(old::has)
                .forEach(field -> given.set(field, old.path(field).deepCopy())));
        for (String field : List.of("allowOut", "denyOut", "rules", "egressProxy")) {
            if (update.has(field)) {
                given.set(field, update.path(field).deepCopy());
            }
        }
        return read(caller, Optional.of(given), flag(update));
    }

    /** Keeps the headers of a sandbox that is to be made, before there can be anything in it that sends requests. */
    void begin(SessionKey session, Asked asked) {
        if (!asked.headers().isEmpty()) { // as most have none
            keep(session, asked);
        }
    }

    /** Keeps the headers of a sandbox in place of what it had. */
    public void keep(SessionKey session, Asked asked) {
        transforms.keep(session, asked.headers());
    }

    /** That a sandbox that is to be made is to have the headers that another one has. */
    public void copy(SessionKey from, SessionKey to) {
        List<Transforms.Header> headers = transforms.of(from);
        if (!headers.isEmpty()) {
            transforms.keep(to, headers);
        }
    }

    /** The network of a sandbox as its maker gave it; the values of its headers only to those who may have them. */
    public ObjectNode shown(Caller caller, SessionKey session, ObjectNode given) {
        ObjectNode shown = given.deepCopy();
        if (given.has("rules")) {
            shown.set("rules", Transforms.show(transforms.of(session), caller.may(Scope.SECRETS)));
        }
        return shown;
    }

    private Asked read(Caller caller, Optional<ObjectNode> given, Optional<Boolean> wanted) {
        ObjectNode network = given.orElseGet(JsonNodeFactory.instance::objectNode);
        if (network.path("egressProxy").isObject()) {
            throw new E2bError(400, "egressProxy is not supported here: what sandboxes send goes out directly");
        }
        if (network.path("httpsPorts").isArray() && !network.path("httpsPorts").isEmpty()) {
            throw new E2bError(400, "httpsPorts is not supported here: ports of sandboxes are reached by plain HTTP");
        }
        checkTexts(network);
        List<Transforms.Header> headers = transforms.read(caller.tenant(), network.path("rules"));
        if (headers.stream().anyMatch(header -> !header.secrets().isEmpty())) {
            // Whoever says where a secret goes has to be one who may say it.
            caller.require(Scope.SECRETS);
        }
        Network read = network(network, wanted);
        networks.check(caller.tenant(), read, "network.");
        if (read.mode() != Mode.NONE && !headers.isEmpty()) {
            read = read.withSecrets(Transforms.names(headers));
        }
        Optional<ObjectNode> kept = given.map(ObjectNode::deepCopy);
        kept.filter(it -> it.has("rules")).ifPresent(it -> it.putObject("rules"));
        return new Asked(read, kept, wanted, headers);
    }

    private Network network(ObjectNode given, Optional<Boolean> wanted) {
        List<Destination> allowed = allowed(given);
        List<Cidr> denied = denied(given);
        boolean everything = allowed.contains(EVERYTHING);
        boolean nothing = !everything
                && (denied.contains(EVERYTHING)
                        || wanted.filter(on -> !on).isPresent()
                        || (wanted.isEmpty() && !internet));
        if (!nothing && allowed.stream().anyMatch(Domain.class::isInstance)) {
            throw new E2bError(
                    400,
                    "When specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out to block"
                            + " all other traffic.");
        }
        List<Rule> rules = allowed.stream()
                .filter(it -> !it.equals(EVERYTHING))
                .map(Egress::rule)
                .toList();
        if (nothing) {
            return rules.isEmpty() ? Network.NONE : new Network(Mode.RESTRICTED, rules, List.of(), Caps.DEFAULT);
        }
        boolean said = everything || wanted.isPresent() || !denied.isEmpty() || !rules.isEmpty();
        if (!said && !(capabilities.contains(Capability.OPEN_NETWORK) && capabilities.contains(Capability.OUTLET))) {
            return Network.NONE; // nobody asked for more than there is
        }
        List<String> closed = new ArrayList<>();
        if (!everything && !denied.isEmpty()) {
            denied.forEach(range -> closed.add(range.toString()));
            closed.add(NEW_ADDRESSES);
        }
        return new Network(Mode.OPEN, rules, closed, List.of(), Caps.DEFAULT);
    }

    private static Rule rule(Destination to) {
        Rule rule = Rule.to(to.toString());
        return to instanceof Cidr ? rule.withEveryPort() : rule;
    }

    // ---- reading -------------------------------------------------------------------------------------------------

    /** Without those that others take in, which E2B does not mind and a network does. */
    private static List<Destination> allowed(ObjectNode given) {
        List<Destination> kept = new ArrayList<>();
        for (String text : texts(given, "allowOut")) {
            Destination one = Addresses.read("allow out", text);
            if (one instanceof Cidr range && !range.equals(EVERYTHING)) {
                requireNarrow(text, range);
            }
            if (kept.stream().noneMatch(other -> Addresses.covers(other, one))) {
                kept.removeIf(other -> Addresses.covers(one, other));
                kept.add(one);
            }
        }
        return kept;
    }

    private static void requireNarrow(String text, Cidr range) {
        if (PublicAddresses.CLOSED.stream().anyMatch(closed -> range.contains(closed) && !closed.equals(range))) {
            throw new E2bError(
                    400,
                    "invalid allow out entry \"" + text + "\": it takes in addresses that are not public; name the"
                            + " ranges that are meant");
        }
    }

    private static List<Cidr> denied(ObjectNode given) {
        List<Cidr> ranges = new ArrayList<>();
        for (String text : texts(given, "denyOut")) {
            if (!(Addresses.read("deny out", text) instanceof Cidr range)) {
                throw new E2bError(400, "invalid denied CIDR " + text);
            }
            ranges.add(range);
        }
        return ranges;
    }

    private static void checkTexts(ObjectNode network) {
        JsonNode open = network.path("allowPublicTraffic");
        if (!absent(open) && !open.isBoolean()) {
            throw new E2bError(400, "network.allowPublicTraffic must be true or false");
        }
        JsonNode mask = network.path("maskRequestHost");
        if (!absent(mask) && !(mask.isString() && mask.asString().matches("[A-Za-z0-9._:${}\\[\\]-]{0,253}"))) {
            throw new E2bError(400, "network.maskRequestHost must be a host, perhaps with ${PORT} in it");
        }
    }

    private static List<String> texts(ObjectNode given, String name) {
        JsonNode list = given.path(name);
        if (absent(list)) {
            return List.of();
        }
        if (!list.isArray() || list.size() > MOST) {
            throw new E2bError(400, "network." + name + " must be a list of at most " + MOST + " texts");
        }
        List<String> texts = new ArrayList<>();
        list.forEach(entry -> {
            if (!entry.isString()) {
                throw new E2bError(400, "network." + name + " must be a list of texts");
            }
            texts.add(entry.asString());
        });
        return texts;
    }

    private static Optional<Boolean> flag(ObjectNode body) {
        JsonNode value = body.path("allow_internet_access");
        if (absent(value)) {
            return Optional.empty();
        }
        if (!value.isBoolean()) {
            throw new E2bError(400, "allow_internet_access must be true or false");
        }
        return Optional.of(value.asBoolean());
    }

    private static boolean absent(JsonNode node) {
        return node.isMissingNode() || node.isNull();
    }
}

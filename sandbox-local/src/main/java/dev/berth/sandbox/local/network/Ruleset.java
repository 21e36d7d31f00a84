package dev.berth.sandbox.local.network;

import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.PublicAddresses;
import java.net.Inet4Address;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The rules of one data directory, as orders for nft(8). They are all in one table of its own, and every text made here
 * is one transaction: the kernel takes all of it or nothing, and no packet meets half of it.
 *
 * <p>A packet of a sandbox is let through if something says so; an interface of the group that no rule knows passes
 * nothing. Most sandboxes want what is open to everybody and nothing in particular: they share the chains called
 * {@link #OPEN}, and {@link Members} tells the rules who they are. Any other one has chains of its own. Each text can be
 * given again, whatever is there: what it removes it declares first.
 */
final class Ruleset {
    /** Whose chains are everybody's; no box is called so. */
    static final String OPEN = "open";

    private static final List<String> CHAINS = List.of("sent-", "got-", "from-", "here-", "to-");

    /** So that programs learn it at once. The kernel sends few of these messages, but resets whenever it is asked to. */
    private static final String REFUSED_TCP = "meta l4proto tcp reject with tcp reset";

    private static final String REFUSED = "reject with icmpx type admin-prohibited";
    private static final long LEAST_AT_ONCE = 256 * 1024;
    private static final long LEAST_BURST = 1024;
    /** Names that programs inside ask; the machine's resolvers answer. */
    private static final String DNS = "169.254.209.";

    private final String table;
    private final int group;
    private final long mostConnections;

    /** @param mostConnections of one sandbox without a ceiling of its own, so that it leaves some to the machine */
    Ruleset(String table, int group, long mostConnections) {
        this.table = table;
        this.group = group;
        this.mostConnections = mostConnections;
    }

    String table() {
        return table;
    }

    /** What is the same for all sandboxes. */
    String common(Collection<String> lent, List<String> resolvers) {
        String closed = PublicAddresses.CLOSED.stream()
                .filter(Ruleset::four)
                .map(Cidr::toString)
                .collect(joining());
        StringBuilder text = new StringBuilder();
        add(text, "add table inet T");
        add(text, "add set inet T closed { type ipv4_addr; flags interval; }");
        add(text, "add set inet T resolvers { type ipv4_addr; }");
        add(text, "add set inet T homes { type ifname . ipv4_addr; }");
        add(text, "add set inet T addresses { type ipv4_addr; }");
        add(text, "add set inet T lent { type ifname; }");
        add(text, "add map inet T asked { type ipv4_addr : ipv4_addr; }");
        for (String map : List.of("from", "here", "to")) {
            add(text, "add map inet T " + map + " { type ifname : verdict; }");
        }
        for (String map : List.of("out", "in")) {
            add(text, "add map inet T " + map + " { type ifname : counter; }");
        }
        add(text, "add set inet T connections { type ipv4_addr; flags dynamic; size 65535; }");
        for (String set : List.of("set inet T closed", "set inet T resolvers", "set inet T lent", "map inet T asked")) {
            add(text, "flush " + set);
        }
        add(text, "add element inet T closed { " + closed + " }");
        if (!resolvers.isEmpty()) {
            add(
                    text,
                    "add element inet T resolvers { "
                            + resolvers.stream().distinct().collect(joining()) + " }");
            add(text, "add element inet T asked { " + asked(resolvers) + " }");
        }
        if (!lent.isEmpty()) {
            add(
                    text,
                    "add element inet T lent { "
                            + lent.stream().map(name -> '"' + name + '"').collect(joining()) + " }");
        }
        chain(text, "refused", REFUSED_TCP, REFUSED);
        text.append(chains(OPEN, Network.OPEN, Traffic.NONE));
        chain(
                text,
                "early { type filter hook prerouting priority raw; policy accept; }",
                // Before the kernel remembers a connection: what cannot be answered, or pretends to be another.
                "iifgroup G meta nfproto != ipv4 drop",
                "iifgroup G meta l4proto != { tcp, udp, icmp } drop",
                "iifgroup G iifname . ip saddr != @homes drop");
        chain(
                text,
                "names { type nat hook prerouting priority dstnat; policy accept; }",
                "iifgroup G meta l4proto { tcp, udp } th dport 53 dnat ip to ip daddr map @asked");
        chain(
                text,
                "input { type filter hook input priority filter; policy accept; }",
                "iifgroup G iifname vmap @here",
                "iifgroup G " + REFUSED_TCP,
                "iifgroup G " + REFUSED);
        chain(
                text,
                "output { type filter hook output priority filter; policy accept; }",
                // What the machine says itself: that something is refused, or too large, or on no way.
                "oifgroup G icmp type { destination-unreachable, time-exceeded } accept",
                "oifgroup G tcp flags & rst == rst accept",
                "oifgroup G oifname vmap @to",
                "oifgroup G drop");
        chain(
                text,
                "forward { type filter hook forward priority filter; policy accept; }",
                "iifgroup G oifname \"" + Links.PREFIX + "*\" " + REFUSED_TCP,
                "iifgroup G oifname \"" + Links.PREFIX + "*\" " + REFUSED,
                "iifgroup G iifname vmap @from",
                "iifgroup G drop",
                "oifgroup G oifname vmap @to",
                "oifgroup G drop",
                "iifname @lent oifname != \"" + Links.PREFIX + "*\" drop");
        chain(
                text,
                "leave { type nat hook postrouting priority srcnat; policy accept; }",
                "ip saddr @addresses oifname != \"" + Links.PREFIX + "*\" masquerade");
        return text.toString();
    }

    /** The name of the chains that are for a box. */
    static String chains(String box, Network network) {
        boolean ordinary = network.allow().isEmpty()
                && network.denied().isEmpty()
                && network.caps().equals(Network.OPEN.caps());
        return ordinary ? OPEN : box;
    }

    /**
     * What may pass by the chains of this name; replaces what might before.
     *
     * @param before what counts against a ceiling already
     */
    String chains(String name, Network network, Traffic before) {
        StringBuilder text = new StringBuilder();
        declare(text, name);
        clear(text, name);
        deleteObjects(text, name);
        List<String> ceilings = ceilings(text, name, network.caps(), before);
        List<Rule> allowed = network.allow().stream()
                .filter(rule -> rule.destination() instanceof Cidr range && four(range))
                .toList();

        List<String> sent = new ArrayList<>();
        sent.add("icmp type { destination-unreachable, time-exceeded } ct state related accept");
        sent.add("meta l4proto != { tcp, udp } " + REFUSED);
        String count = "ct count over " + connections(network.caps());
        // What is shared counts for each by itself.
        sent.add("ct state new " + (name.equals(OPEN) ? "add @connections { ip saddr " + count + " }" : count)
                + " goto refused");
        sent.addAll(ceilings);
        sent.add("counter name iifname map @out");
        sent.add("accept");
        rules(text, "sent-" + name, sent);

        List<String> got = new ArrayList<>(ceilings);
        got.add("counter name oifname map @in");
        got.add("accept");
        rules(text, "got-" + name, got);

        List<String> permits = new ArrayList<>();
        permits.add("ip daddr @resolvers ct status dnat meta l4proto { tcp, udp } th dport 53 goto sent-" + name);
        allowed.forEach(rule -> permits.add("ip daddr " + rule.to() + ports("dport", rule) + " goto sent-" + name));
        List<String> here = new ArrayList<>(permits);
        // Said here: at the end of a chain that was gone to, the policy of the first one decides, which is to accept.
        here.add("goto refused");
        rules(text, "here-" + name, here);
        List<String> denied = network.denied().stream()
                .filter(Ruleset::four)
                .map(Cidr::toString)
                .toList();
        denied.forEach(range -> permits.add("ip daddr " + range + " goto refused"));
        permits.add("ip daddr @closed goto refused");
        permits.add("goto sent-" + name);
        rules(text, "from-" + name, permits);

        List<String> answers = new ArrayList<>();
        answers.add("ct state != { established, related } drop");
        answers.add("ip saddr @resolvers ct status dnat meta l4proto { tcp, udp } th sport 53 goto got-" + name);
        allowed.forEach(rule -> answers.add("ip saddr " + rule.to() + ports("sport", rule) + " goto got-" + name));
        denied.forEach(range -> answers.add("ip saddr " + range + " drop"));
        answers.add("ip saddr @closed drop");
        answers.add("goto got-" + name);
        rules(text, "to-" + name, answers);
        return text.toString();
    }

    /** Removes the chains of a box, which nothing may lead to any more. */
    String withoutChains(String box) {
        StringBuilder text = new StringBuilder();
        declare(text, box);
        clear(text, box);
        for (String chain : CHAINS.reversed()) {
            add(text, "delete chain inet T " + chain + box);
        }
        deleteObjects(text, box);
        return text.toString();
    }

    String nothing() {
        StringBuilder text = new StringBuilder();
        add(text, "add table inet T");
        add(text, "delete table inet T");
        return text.toString();
    }

    /** Makes sure that everything is there that may be removed or referred to. */
    private void declare(StringBuilder text, String name) {
        CHAINS.forEach(chain -> add(text, "add chain inet T " + chain + name));
        add(text, "add quota inet T all-" + name + " { over 1 bytes }");
        add(text, "add limit inet T speed-" + name + " { rate over 1 bytes/second }");
    }

    private void clear(StringBuilder text, String name) {
        CHAINS.forEach(chain -> add(text, "flush chain inet T " + chain + name));
    }

    private void deleteObjects(StringBuilder text, String name) {
        add(text, "delete quota inet T all-" + name);
        add(text, "delete limit inet T speed-" + name);
    }

    /** One of each for both directions, as that is what they are for. */
    private List<String> ceilings(StringBuilder text, String box, Caps caps, Traffic before) {
        List<String> rules = new ArrayList<>();
        if (caps.bytes() > 0) {
            add(
                    text,
                    "add quota inet T all-" + box + " { over " + caps.bytes() + " bytes used " + before.bytes()
                            + " bytes }");
            rules.add("quota name \"all-" + box + "\" drop");
        }
        if (caps.bytesPerSecond() > 0) {
            // What is over is dropped, which TCP takes for the speed of the way. The kernel lets a second's worth
            // pass at once, and the burst on top of it. It hands on packets of up to 64 KiB between the two ends, of
            // which none would pass with less at once.
            long burst = Math.max(LEAST_AT_ONCE - caps.bytesPerSecond(), LEAST_BURST);
            add(
                    text,
                    "add limit inet T speed-" + box + " { rate over " + caps.bytesPerSecond() + " bytes/second burst "
                            + burst + " bytes }");
            rules.add("limit name \"speed-" + box + "\" drop");
        }
        return rules;
    }

    private long connections(Caps caps) {
        return caps.connections() == 0 ? mostConnections : Math.min(caps.connections(), mostConnections);
    }

    private void chain(StringBuilder text, String chain, String... rules) {
        add(text, "add chain inet T " + chain);
        String name = chain.split(" ", 2)[0];
        add(text, "flush chain inet T " + name);
        rules(text, name, List.of(rules));
    }

    private void rules(StringBuilder text, String chain, List<String> rules) {
        rules.forEach(rule -> add(text, "add rule inet T " + chain + " " + rule));
    }

    private void add(StringBuilder text, String order) {
        text.append(order.replace(" inet T", " inet " + table).replace("ifgroup G", "ifgroup " + group))
                .append('\n');
    }

    /** As many names for them as a program may ask, so that what a sandbox has written down does not change with them. */
    private static String asked(List<String> resolvers) {
        List<String> pairs = new ArrayList<>();
        for (int i = 0; i < Resolvers.MOST; i++) {
            pairs.add(DNS + (i + 1) + " : " + resolvers.get(i % resolvers.size()));
        }
        return String.join(", ", pairs);
    }

    /** The /etc/resolv.conf of a sandbox. */
    static String resolvConf() {
        StringBuilder text = new StringBuilder();
        for (int i = 1; i <= Resolvers.MOST; i++) {
            text.append("nameserver ").append(DNS).append(i).append('\n');
        }
        return text.toString();
    }

    private static String ports(String end, Rule rule) {
        String some = " meta l4proto { tcp, udp }";
        return rule.everyPort()
                ? some
                : some + " th " + end + " "
                        + rule.ports().stream().map(Object::toString).collect(Collectors.joining(", ", "{ ", " }"));
    }

    private static boolean four(Cidr range) {
        return range.address() instanceof Inet4Address;
    }

    private static java.util.stream.Collector<CharSequence, ?, String> joining() {
        return Collectors.joining(", ");
    }
}

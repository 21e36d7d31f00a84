package dev.berth.egress;

import dev.berth.egress.policy.Names;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import javax.naming.Context;
import javax.naming.NameNotFoundException;
import javax.naming.NamingException;
import javax.naming.directory.Attribute;
import javax.naming.directory.InitialDirContext;

/** Asks one DNS server, and keeps nothing. */
public final class DnsNames implements Names {
    private static final String FIRST_TRY_MILLIS = "1000";
    private static final String TRIES = "3";

    private final String server;

    public DnsNames(InetSocketAddress server) {
        String host = server.getAddress().getHostAddress();
        this.server = "dns://" + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + server.getPort();
    }

    @Override
    public List<InetAddress> resolve(String host) throws UnknownHostException {
        // Each kind in a query of its own: a query for several is sent as ANY, which servers need not answer (RFC
        // 8482).
        FutureTask<List<InetAddress>> six = new FutureTask<>(() -> query(host, "AAAA"));
        Thread.ofVirtual().name("egress-names").start(six);
        List<InetAddress> all = new ArrayList<>();
        try {
            all.addAll(query(host, "A"));
            all.addAll(six.get());
        } catch (NamingException | ExecutionException e) {
            throw unknown(host, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unknown(host, e);
        }
        if (all.isEmpty()) {
            throw new UnknownHostException(host);
        }
        return List.copyOf(all);
    }

    private static UnknownHostException unknown(String host, Exception why) {
        UnknownHostException unknown = new UnknownHostException(host);
        unknown.initCause(why);
        return unknown;
    }

    // The directory is the DNS alone, whose records are text; the table is what its constructor takes.
    @SuppressWarnings({"BanJNDI", "JdkObsolete"})
    private List<InetAddress> query(String host, String type) throws NamingException {
        Hashtable<String, String> settings = new Hashtable<>();
        settings.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.dns.DnsContextFactory");
        settings.put(Context.PROVIDER_URL, server);
        settings.put("com.sun.jndi.dns.timeout.initial", FIRST_TRY_MILLIS);
        settings.put("com.sun.jndi.dns.timeout.retries", TRIES);
        InitialDirContext context = new InitialDirContext(settings);
        try {
            Attribute found = context.getAttributes(host, new String[] {type}).get(type);
            List<InetAddress> addresses = new ArrayList<>();
            for (int i = 0; found != null && i < found.size(); i++) {
                addresses.add(InetAddress.ofLiteral(String.valueOf(found.get(i))));
            }
            return addresses;
        } catch (NameNotFoundException e) {
            return List.of();
        } finally {
            context.close();
        }
    }
}

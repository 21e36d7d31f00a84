package dev.berth.gateway.http;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Collections;
import java.util.Optional;
import java.util.function.Predicate;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/**
 * Another port of the server, in TLS, for names of a domain and for no others. It is taken before there is a server, so
 * that those who tell clients of it know its number.
 */
public final class NamedPort implements AutoCloseable {
    /** Who the server is to those who connect. */
    public interface Keys {
        /** As it is now; asked again every day, as certificates run out. */
        KeyStore read() throws IOException, GeneralSecurityException;

        String password();
    }

    private final ServerSocketChannel channel;
    private final Predicate<String> names;
    private final Keys keys;
    private final SslContextFactory.Server tls = new SslContextFactory.Server();
    private final Object renewing = new Object();

    private NamedPort(ServerSocketChannel channel, Predicate<String> names, Keys keys) {
        this.channel = channel;
        this.names = names;
        this.keys = keys;
    }

    /**
     * Takes a port; others who come are answered when the server has started.
     *
     * @param port 0 for any that is free
     * @param names whether a host, in small letters and without its port, is one of those that are served
     */
    public static NamedPort open(String host, int port, Predicate<String> names, Keys keys) throws IOException {
        ServerSocketChannel channel = ServerSocketChannel.open();
        try {
            channel.socket().setReuseAddress(true);
            channel.bind(new InetSocketAddress(host, port));
            NamedPort named = new NamedPort(channel, names, keys);
            named.tls.setKeyStorePassword(keys.password());
            named.tls.setKeyStore(named.read());
            return named;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    public int port() {
        return channel.socket().getLocalPort();
    }

    private KeyStore read() {
        try {
            return keys.read();
        } catch (IOException | GeneralSecurityException e) {
            throw SandboxException.unavailable(
                    "could not read the key and the certificate for names of ports: " + e.getMessage(), e);
        }
    }

    /** Takes up another certificate if there is one. Connections that are open stay as they are. */
    public void renew() {
        synchronized (renewing) {
            KeyStore fresh = read();
            if (!certificate(fresh).equals(certificate(tls.getKeyStore()))) {
                try {
                    tls.reload(factory -> factory.setKeyStore(fresh));
                } catch (Exception e) {
                    throw SandboxException.unavailable(
                            "could not take up another certificate for names of ports: " + e.getMessage(), e);
                }
            }
        }
    }

    private static Optional<Certificate> certificate(KeyStore store) {
        try {
            for (String alias : Collections.list(store.aliases())) {
                if (store.isKeyEntry(alias)) {
                    return Optional.ofNullable(store.getCertificate(alias));
                }
            }
            return Optional.empty();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("a key store that was loaded can be read", e);
        }
    }

    ServerConnector connector(Server server, HttpConfiguration http, Duration idle) {
        ServerConnector connector = Connectors.tls(server, http, tls, idle, false);
        try {
            connector.open(channel);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not listen on port " + port() + ": " + e.getMessage(), e);
        }
        return connector;
    }

    /** Lets through what came by this connector for a name that is served, and all that came by another one. */
    Handler.Wrapper guard(Handler behind) {
        return new Handler.Wrapper(behind) {
            @Override
            public boolean handle(Request request, Response response, Callback callback) throws Exception {
                String host = String.valueOf(Request.getServerName(request)).toLowerCase(java.util.Locale.ROOT);
                if (!cameHere(request) || names.test(host)) {
                    return super.handle(request, response, callback);
                }
                Response.writeError(request, response, callback, 404);
                return true;
            }
        };
    }

    private boolean cameHere(Request request) {
        return request.getConnectionMetaData().getConnector() instanceof ServerConnector connector
                && channel.equals(connector.getTransport());
    }

    /** For one that no server took up; a server that stops closes it itself. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not leave port " + port() + ": " + e.getMessage(), e);
        }
    }
}

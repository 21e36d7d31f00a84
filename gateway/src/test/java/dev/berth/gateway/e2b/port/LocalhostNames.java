package dev.berth.gateway.e2b.port;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.net.spi.InetAddressResolver;
import java.net.spi.InetAddressResolverProvider;
import java.util.stream.Stream;

/** Names below {@code localhost} are this machine, as RFC 6761 has it and many a resolver has not. */
public final class LocalhostNames extends InetAddressResolverProvider {
    @Override
    public InetAddressResolver get(Configuration configuration) {
        InetAddressResolver usual = configuration.builtinResolver();
        return new InetAddressResolver() {
            @Override
            public Stream<InetAddress> lookupByName(String host, LookupPolicy policy) throws UnknownHostException {
                return host.endsWith(".localhost")
                        ? Stream.of(InetAddress.getByAddress(host, new byte[] {127, 0, 0, 1}))
                        : usual.lookupByName(host, policy);
            }

            @Override
            public String lookupByAddress(byte[] address) throws UnknownHostException {
                return usual.lookupByAddress(address);
            }
        };
    }

    @Override
    public String name() {
        return "names below localhost";
    }
}

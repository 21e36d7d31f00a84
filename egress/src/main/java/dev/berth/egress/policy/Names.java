package dev.berth.egress.policy;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** Resolves names. Nothing else on the way out does. */
public interface Names {
    /** All addresses of a host, at least one. */
    List<InetAddress> resolve(String host) throws UnknownHostException;
}

package dev.berth.sandbox.local.network;

/**
 * What has gone through the open network of a sandbox since it was made, in bytes of IP packets.
 *
 * @param out what the sandbox sent
 * @param in what it got
 */
public record Traffic(long out, long in) {
    static final Traffic NONE = new Traffic(0, 0);

    Traffic plus(Traffic more) {
        return new Traffic(out + more.out, in + more.in);
    }

    public long bytes() {
        return out + in;
    }
}

package dev.berth.channel.webhook;

import java.net.URI;
import java.time.Duration;

/**
 * A chat system that is attached.
 *
 * @param url where it is posted what there is to see
 * @param secret that both sides sign with
 * @param privateAddresses whether attachments may be fetched from this machine and its networks
 * @param timeout for each request to it
 */
public record Hook(URI url, String secret, boolean privateAddresses, Duration timeout) {
    private static final int LEAST_SECRET = 16;

    public Hook {
        if (secret.length() < LEAST_SECRET) {
            throw new IllegalArgumentException(
                    "the secret of a webhook channel has to have " + LEAST_SECRET + " characters at least");
        }
        String scheme = String.valueOf(url.getScheme());
        if (!(scheme.equals("https") || scheme.equals("http")) || url.getHost() == null) {
            throw new IllegalArgumentException("the url of a webhook channel has to be like https://host.example/path");
        }
    }

    public static Hook of(URI url, String secret) {
        return new Hook(url, secret, false, Duration.ofSeconds(30));
    }

    /** Without the secret, as this may be logged. */
    @Override
    public String toString() {
        return "Hook[" + url.getHost() + "]";
    }
}

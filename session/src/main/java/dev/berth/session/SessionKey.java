package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import java.math.BigInteger;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Which conversation: a tenant and the tenant's own name for it. The same key is the same computer, for ever.
 *
 * @param tenant 1 to 63 characters of a-z, 0-9 and '-'
 * @param id 1 to 200 characters of A-Z, a-z, 0-9 and . _ : @ + = ~ -, beginning with a letter or digit
 */
public record SessionKey(String tenant, String id) {
    public static final String DEFAULT_TENANT = "default";

    private static final Pattern TENANT = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:@+=~-]{0,199}");
    private static final int SLUG = 32;
    /** 100 bits of a hash: no two keys will ever meet. */
    private static final int HASH = 20;

    public SessionKey {
        if (!TENANT.matcher(tenant).matches()) {
            throw SandboxException.invalid("a tenant has 1 to 63 characters of a-z, 0-9 and '-'");
        }
        if (!ID.matcher(id).matches()) {
            throw SandboxException.invalid("a session id has 1 to 200 characters of A-Z, a-z, 0-9 and . _ : @ + = ~ -,"
                    + " and begins with a letter or digit");
        }
    }

    public static SessionKey of(String tenant, String id) {
        return new SessionKey(tenant, id);
    }

    /** A thread of a Slack channel; a message outside of threads opens one with its own timestamp. */
    public static SessionKey slackThread(String tenant, String channel, String threadTimestamp) {
        return new SessionKey(tenant, channel + ":" + threadTimestamp);
    }

    /** The direct messages of one Slack user, all of them together. */
    public static SessionKey slackDirect(String tenant, String user) {
        return new SessionKey(tenant, "dm:" + user);
    }

    /**
     * The name of its sandbox at any provider. Because it follows from the key, two servers that both believe they have to
     * make it ask for the same name, and the provider refuses one of them.
     */
    public SandboxId sandboxId() {
        String slug = id.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
        return new SandboxId(slug.substring(0, Math.min(SLUG, slug.length())) + "-" + hash());
    }

    private String hash() {
        String text = new BigInteger(1, Sha256.of(toString())).toString(32);
        return text.substring(text.length() - HASH);
    }

    /** A tenant has no '/', so this is unambiguous. */
    @Override
    public String toString() {
        return tenant + "/" + id;
    }
}

package dev.berth.archive.s3;

import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which bucket archives are kept in, and how it is reached.
 *
 * @param prefix what the keys begin with, without a slash at either end; empty for none
 * @param endpoint of a store other than Amazon's
 * @param region if empty: with an endpoint {@code us-east-1}, without one what the environment or the profile says
 * @param pathStyle whether the bucket is in the path of a request and not in its host name, as most other stores want
 * @param credentials if empty: what AWS's default chain finds, which is the environment, the profile or the role
 */
public record S3Config(
        String bucket,
        String prefix,
        Optional<URI> endpoint,
        Optional<String> region,
        boolean pathStyle,
        Optional<Credentials> credentials) {

    private static final Set<String> SETTINGS = Set.of("endpoint", "region", "path-style");
    private static final String EXAMPLE =
            "s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-central-1&path-style=true";
    private static final String WHERE_CREDENTIALS_BELONG =
            "credentials do not belong into the URL of archives, which ends up in logs and process lists; put them into "
                    + "the environment as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, into a profile, or use a role";

    /** A key pair, and the token that temporary ones come with. Does not print itself. */
    public record Credentials(String accessKeyId, String secretAccessKey, Optional<String> sessionToken) {
        public Credentials {
            if (accessKeyId.isBlank() || secretAccessKey.isBlank()) {
                throw SandboxException.invalid("credentials for S3 have an access key id and a secret access key");
            }
        }

        @Override
        public String toString() {
            return "Credentials[hidden]";
        }
    }

    public S3Config {
        if (!bucket.matches("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")) {
            throw SandboxException.invalid(
                    "this cannot name an S3 bucket: 3 to 63 of a-z, 0-9, '.' and '-', as in " + EXAMPLE);
        }
        // A segment of dots would be taken for a way up by servers and proxies that tidy paths.
        if (prefix.length() > 500 || !prefix.matches("(?!.*(^|/)\\.+(/|$))([A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*)?")) {
            throw SandboxException.invalid(
                    "this cannot be the prefix of archives: words of letters, digits, '.', '_', '=' and '-', "
                            + "separated by single slashes, up to 500 characters, as in " + EXAMPLE);
        }
        endpoint.ifPresent(S3Config::checkEndpoint);
        if (!region.orElse("any").matches("[A-Za-z0-9-]{1,64}")) {
            throw SandboxException.invalid("this cannot name a region: letters, digits and '-', as in " + EXAMPLE);
        }
    }

    /** Reads {@code s3://bucket/prefix?endpoint=…&region=…&path-style=…}; what is missing has its default. */
    public static S3Config of(String url) {
        try {
            return parse(new URI(url));
        } catch (URISyntaxException e) {
            // Neither the exception nor its message: they repeat the URL, whatever is in it.
            throw SandboxException.invalid("the URL of archives cannot be read: " + e.getReason() + " at character "
                    + (e.getIndex() + 1) + "; one is " + EXAMPLE);
        }
    }

    /** The same of a URL that has been read. With an endpoint the path style is the default, without one it is not. */
    public static S3Config parse(URI url) {
        if (!"s3".equals(url.getScheme()) || url.getRawAuthority() == null || url.getRawFragment() != null) {
            throw SandboxException.invalid("the URL of archives in S3 looks like " + EXAMPLE);
        }
        if (url.getRawAuthority().contains("@")) {
            throw SandboxException.invalid(WHERE_CREDENTIALS_BELONG);
        }
        Map<String, String> settings = settings(url);
        Optional<URI> endpoint = Optional.ofNullable(settings.get("endpoint")).map(S3Config::endpoint);
        return new S3Config(
                url.getRawAuthority(),
                url.getPath().replaceAll("^/|/$", ""),
                endpoint,
                Optional.ofNullable(settings.get("region")),
                pathStyle(settings.getOrDefault("path-style", String.valueOf(endpoint.isPresent()))),
                Optional.empty());
    }

    public S3Config withCredentials(Credentials given) {
        return new S3Config(bucket, prefix, endpoint, region, pathStyle, Optional.of(given));
    }

    /** What an error message calls this. */
    String location() {
        return "s3://" + bucket + (prefix.isEmpty() ? "" : "/" + prefix)
                + endpoint.map(it -> " at " + it).orElse("");
    }

    String key(String name) {
        return keyPrefix() + name;
    }

    String keyPrefix() {
        return prefix.isEmpty() ? "" : prefix + "/";
    }

    private static Map<String, String> settings(URI url) {
        Map<String, String> settings = new LinkedHashMap<>();
        if (url.getRawQuery() == null) {
            return settings;
        }
        for (String setting : url.getRawQuery().split("&")) {
            String name = setting.split("=", 2)[0];
            if (name.toLowerCase(Locale.ROOT).matches(".*(access|secret|key|token|password|credential).*")) {
                throw SandboxException.invalid(WHERE_CREDENTIALS_BELONG);
            }
            if (!SETTINGS.contains(name) || !setting.contains("=") || settings.containsKey(name)) {
                throw SandboxException.invalid(
                        "the URL of archives in S3 takes endpoint, region and path-style, each once and with a value, as in "
                                + EXAMPLE);
            }
            String value = setting.substring(name.length() + 1).replace("+", "%2B");
            settings.put(name, URLDecoder.decode(value, StandardCharsets.UTF_8));
        }
        return settings;
    }

    private static URI endpoint(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            throw SandboxException.invalid("the endpoint of archives in S3 cannot be read; one is in " + EXAMPLE);
        }
    }

    private static void checkEndpoint(URI endpoint) {
        if (endpoint.getRawUserInfo() != null
                || String.valueOf(endpoint.getRawAuthority()).contains("@")) {
            throw SandboxException.invalid(WHERE_CREDENTIALS_BELONG);
        }
        if (!Set.of("http", "https").contains(String.valueOf(endpoint.getScheme()))
                || endpoint.getHost() == null
                || endpoint.getRawQuery() != null
                || endpoint.getRawFragment() != null) {
            throw SandboxException.invalid(
                    "the endpoint of archives in S3 is http or https, a host, and a port if need be, as in " + EXAMPLE);
        }
    }

    private static boolean pathStyle(String text) {
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw SandboxException.invalid("path-style is true or false, as in " + EXAMPLE);
        };
    }
}

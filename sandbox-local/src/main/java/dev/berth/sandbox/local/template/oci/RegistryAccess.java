package dev.berth.sandbox.local.template.oci;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.PublicAddresses;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec.Credentials;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Requests for one repository of a registry, by the distribution protocol of OCI. Who asks proves it as the registry
 * wants: by a token of its authority, or by name and password.
 *
 * <p>The names of registries are somebody's, and so is what a registry says of where to go next. So every address is
 * looked at before it is asked: it has to be a public one unless the operator knows the host, and only hosts that he
 * knows so are asked without TLS.
 */
public final class RegistryAccess {
    private static final int MOST_REDIRECTS = 5;
    private static final int LARGEST_ANSWER = 1 << 20;
    private static final Pattern PARAMETER = Pattern.compile("([a-z_]+)=\"([^\"]*)\"");
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final HttpClient http;
    private final RegistryConfig config;
    private final ImageName image;
    private final String host;
    private final Optional<Credentials> credentials;
    private final Duration patience;
    private @Nullable String authorization;

    /** @param patience for each answer that is no layer */
    RegistryAccess(
            HttpClient http,
            RegistryConfig config,
            ImageName image,
            Optional<Credentials> credentials,
            Duration patience) {
        this.patience = patience;
        this.http = http;
        this.config = config;
        this.image = image;
        this.credentials = credentials;
        boolean hub = image.registry().equals(ImageName.DOCKER_HUB);
        this.host = hub ? config.mirror().orElse("registry-1.docker.io") : image.registry();
    }

    /** Opens what is at a path below the repository; the caller reads and closes it. */
    InputStream open(String path, String accept) {
        URI uri = URI.create(
                config.known().getOrDefault(host, "https") + "://" + host + "/v2/" + image.repository() + "/" + path);
        HttpResponse<InputStream> answer = send(uri, accept, Optional.ofNullable(authorization));
        if (answer.statusCode() == 401) {
            close(answer);
            String fresh = authorize(answer);
            authorization = fresh;
            answer = send(uri, accept, Optional.of(fresh));
        }
        for (int hops = 0; answer.statusCode() / 100 == 3; hops++) {
            close(answer);
            Optional<String> location = answer.headers().firstValue("Location");
            if (hops == MOST_REDIRECTS || location.isEmpty()) {
                throw SandboxException.unavailable(
                        "could not get the image " + image + ": " + host + " sends elsewhere, and from there again");
            }
            URI next = address(uri, location.get());
            // What proves who asks is for the registry alone, and not for whom it sends to and who sends on.
            boolean registry = host.equals(next.getAuthority());
            uri = next;
            answer = send(uri, accept, registry ? Optional.ofNullable(authorization) : Optional.empty());
        }
        if (answer.statusCode() != 200) {
            close(answer);
            throw status(answer.statusCode());
        }
        return answer.body();
    }

    private HttpResponse<InputStream> send(URI uri, String accept, Optional<String> proof) {
        check(uri);
        try {
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(uri).timeout(patience).header("Accept", accept);
            proof.ifPresent(value -> request.header("Authorization", value));
            return http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not get the image " + image + ": the registry " + uri.getAuthority()
                            + " cannot be reached (" + e.getClass().getSimpleName()
                            + "); see whether this machine reaches it, or name a mirror for it",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while getting the image " + image, e);
        }
    }

    /** Whether that may be asked at all. */
    private void check(URI uri) {
        String authority = String.valueOf(uri.getAuthority());
        String scheme = String.valueOf(uri.getScheme());
        String known = config.known().get(authority);
        String name = uri.getHost();
        if (name == null || !(scheme.equals("https") || scheme.equals(known))) {
            throw SandboxException.denied("could not get the image " + image + ": " + authority
                    + " would be asked without encryption; the operator of this server has to allow that, by naming it"
                    + " among the registries");
        }
        if (known != null) {
            return;
        }
        try {
            for (InetAddress address : InetAddress.getAllByName(name)) {
                if (!PublicAddresses.contains(address)) {
                    throw SandboxException.denied("could not get the image " + image + ": " + authority
                            + " is at a private address; the operator of this server has to allow that, by naming it"
                            + " among the registries");
                }
            }
        } catch (UnknownHostException e) {
            throw SandboxException.unavailable(
                    "could not get the image " + image + ": the registry " + name + " is not known to this machine's"
                            + " resolver; see whether this machine reaches it, or name a mirror for it",
                    e);
        }
    }

    /** What the registry wants to see: by "WWW-Authenticate", RFC 6750 and RFC 7617. */
    private String authorize(HttpResponse<InputStream> refusal) {
        String challenge = refusal.headers().firstValue("WWW-Authenticate").orElse("");
        String scheme = challenge.split(" ", 2)[0].toLowerCase(Locale.ROOT);
        Optional<String> basic = credentials.map(who -> "Basic "
                + Base64.getEncoder()
                        .encodeToString((who.user() + ":" + who.password()).getBytes(StandardCharsets.UTF_8)));
        return switch (scheme) {
            case "basic" -> basic.orElseThrow(() -> status(401));
            case "bearer" -> "Bearer " + token(parameters(challenge), basic);
            default -> throw status(401);
        };
    }

    /** From the authority that the registry names, for this repository alone. */
    private String token(Map<String, String> challenge, Optional<String> basic) {
        String realm = challenge.getOrDefault("realm", "");
        String query = "scope=" + encoded("repository:" + image.repository() + ":pull")
                + (challenge.containsKey("service") ? "&service=" + encoded(challenge.get("service")) : "");
        URI uri = address(URI.create("https://" + host), realm + (realm.contains("?") ? "&" : "?") + query);
        HttpResponse<InputStream> answer = send(uri, "application/json", basic);
        try (InputStream body = new TimedBody(answer.body(), patience)) {
            if (answer.statusCode() != 200) {
                throw status(answer.statusCode() == 403 ? 403 : 401);
            }
            var json = JSON.readTree(body.readNBytes(LARGEST_ANSWER));
            String token = json.path("token").asString(json.path("access_token").asString(""));
            if (token.isEmpty() || !token.chars().allMatch(c -> c > ' ' && c < 127)) {
                throw status(401);
            }
            return token;
        } catch (IOException | JacksonException e) {
            throw SandboxException.unavailable(
                    "could not get the image " + image + ": " + uri.getAuthority() + " gave no token that can be read",
                    e);
        }
    }

    private static Map<String, String> parameters(String challenge) {
        Map<String, String> parameters = new TreeMap<>();
        Matcher matcher = PARAMETER.matcher(challenge);
        while (matcher.find()) {
            parameters.put(matcher.group(1), matcher.group(2));
        }
        return parameters;
    }

    private URI address(URI from, String text) {
        try {
            return from.resolve(text);
        } catch (IllegalArgumentException e) {
            throw SandboxException.unavailable(
                    "could not get the image " + image + ": " + host + " names an address that makes no sense", e);
        }
    }

    private SandboxException status(int status) {
        String what = "could not get the image " + image + " from " + host + ": ";
        return switch (status) {
            case 401, 403 ->
                SandboxException.denied(what
                        + (credentials.isPresent()
                                ? "the registry does not accept these credentials for it"
                                : "there is no such image for everybody; name it rightly, or give credentials"));
            case 404 -> SandboxException.notFound(what + "there is no such image; see whether its name is right");
            case 429 ->
                new SandboxException(
                        ErrorCode.LIMIT, what + "the registry was asked too often; give credentials, or try later");
            default -> SandboxException.unavailable(what + "the registry answered with status " + status);
        };
    }

    private static String encoded(@Nullable String text) {
        return URLEncoder.encode(String.valueOf(text), StandardCharsets.UTF_8);
    }

    private static void close(HttpResponse<InputStream> answer) {
        try {
            answer.body().close();
        } catch (IOException e) {
            // nobody reads on anyway
        }
    }

    /** As {@link #open}, for what is small and read at once. */
    InputStream openSmall(String path, String accept) {
        return new TimedBody(open(path, accept), patience);
    }

    /** What the image is called, in errors. */
    ImageName image() {
        return image;
    }
}

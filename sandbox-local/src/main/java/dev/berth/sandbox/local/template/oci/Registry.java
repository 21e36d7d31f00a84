package dev.berth.sandbox.local.template.oci;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec.Credentials;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Finds images in registries and gets their layers. Whatever is got is what its digest says, or is refused. */
public final class Registry {
    private static final String LISTS =
            "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json";
    private static final String MANIFESTS =
            "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LARGEST_MANIFEST = 4 << 20;
    private static final int MOST_LAYERS = 128;
    private static final long LARGEST_IMAGE = 16L << 30;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final RegistryConfig config;
    private final Duration patience;
    private final HttpClient http = HttpClient.newBuilder()
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(Duration.ofSeconds(15))
            .build();

    public Registry(RegistryConfig config) {
        this(config, PATIENCE);
    }

    Registry(RegistryConfig config, Duration patience) {
        this.config = config;
        this.patience = patience;
    }

    /**
     * Finds the image for this kind of machine.
     *
     * @throws SandboxException {@code not_found} if there is none, {@code denied} if it is not for who asks,
     *     {@code unavailable} if the registry cannot be reached
     */
    public Image find(ImageName name, Optional<Credentials> credentials) {
        RegistryAccess access = new RegistryAccess(http, config, name, credentials, patience);
        String digest = name.reference();
        byte[] bytes = get(access, "manifests/" + digest, LISTS + ", " + MANIFESTS);
        digest = digest.startsWith("sha256:") ? checked(access, digest, bytes) : Sha256.of(bytes);
        JsonNode manifest = read(access, bytes);
        if (manifest.path("manifests").isArray()) {
            digest = choose(access, manifest);
            bytes = get(access, "manifests/" + digest, MANIFESTS);
            manifest = read(access, bytes);
            digest = checked(access, digest, bytes);
        }
        if (!manifest.path("layers").isArray()) {
            throw refused(access, "its manifest is of a kind that is not known");
        }
        String config = digest(access, manifest.path("config"));
        byte[] settings = get(access, "blobs/" + config, "*/*");
        String _ = checked(access, config, settings);
        return new Image(name, digest, env(read(access, settings)), layers(access, manifest), access);
    }

    /** Does something with a layer. */
    public interface LayerUse {
        void with(InputStream layer) throws IOException;
    }

    /**
     * Lends a layer as it comes. When this returns, it was what its digest says; if it throws, what was made of it has to
     * go.
     */
    public void layer(Image image, Image.Layer layer, LayerUse use) throws IOException {
        try (CheckedBlob blob = new CheckedBlob(
                image.access().open("blobs/" + layer.digest(), "*/*"), image.name(), layer.digest(), layer.size())) {
            use.with(blob);
            blob.finish();
        }
    }

    private static List<Image.Layer> layers(RegistryAccess access, JsonNode manifest) {
        List<Image.Layer> layers = new ArrayList<>();
        long all = 0;
        for (JsonNode layer : manifest.path("layers")) {
            long size = layer.path("size").asLong(-1);
            if (size < 0 || layer.path("mediaType").asString("").contains("foreign")) {
                throw refused(access, "one of its layers is of a kind that is not known");
            }
            all += size;
            layers.add(new Image.Layer(digest(access, layer), size));
        }
        if (layers.size() > MOST_LAYERS || all > LARGEST_IMAGE || all < 0) {
            throw refused(
                    access,
                    "it is too large: " + layers.size() + " layers with " + (all >> 20) + " MB; at most " + MOST_LAYERS
                            + " layers with " + (LARGEST_IMAGE >> 20) + " MB are taken");
        }
        return layers;
    }

    private static String choose(RegistryAccess access, JsonNode list) {
        String architecture = switch (System.getProperty("os.arch", "")) {
            case "amd64", "x86_64" -> "amd64";
            case "aarch64" -> "arm64";
            case String other -> other;
        };
        for (JsonNode entry : list.path("manifests")) {
            JsonNode platform = entry.path("platform");
            if (platform.path("os").asString("").equals("linux")
                    && platform.path("architecture").asString("").equals(architecture)) {
                return digest(access, entry);
            }
        }
        throw SandboxException.unsupported(
                "could not get the image " + access.image() + ": there is none for linux on " + architecture);
    }

    private static Map<String, String> env(JsonNode settings) {
        Map<String, String> env = new TreeMap<>();
        for (JsonNode variable : settings.path("config").path("Env")) {
            String text = variable.asString("");
            int equals = text.indexOf('=');
            if (equals > 0 && text.indexOf('\0') < 0) {
                env.put(text.substring(0, equals), text.substring(equals + 1));
            }
        }
        return env;
    }

    private static byte[] get(RegistryAccess access, String path, String accept) {
        try (InputStream in = access.openSmall(path, accept)) {
            byte[] bytes = in.readNBytes(LARGEST_MANIFEST + 1);
            if (bytes.length > LARGEST_MANIFEST) {
                throw refused(access, "its manifest is too large");
            }
            return bytes;
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not get the image " + access.image()
                            + ": the connection broke, or its registry is too slow; try" + " again",
                    e);
        }
    }

    private static JsonNode read(RegistryAccess access, byte[] bytes) {
        try {
            return JSON.readTree(bytes);
        } catch (JacksonException e) {
            throw refused(access, "its manifest is not JSON");
        }
    }

    private static String digest(RegistryAccess access, JsonNode of) {
        String digest = of.path("digest").asString("");
        if (!ImageName.DIGEST.matcher(digest).matches()) {
            throw refused(access, "it names a digest that makes no sense");
        }
        return digest;
    }

    private static String checked(RegistryAccess access, String digest, byte[] bytes) {
        if (!Sha256.of(bytes).equals(digest)) {
            throw refused(access, "what the registry gave is not what its digest says");
        }
        return digest;
    }

    private static SandboxException refused(RegistryAccess access, String why) {
        return SandboxException.invalid("could not use the image " + access.image() + ": " + why);
    }
}

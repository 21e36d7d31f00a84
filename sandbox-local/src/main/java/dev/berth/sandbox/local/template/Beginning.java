package dev.berth.sandbox.local.template;

import dev.berth.sandbox.local.template.oci.Image;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a template begins with, as far as it decides the steps that follow.
 *
 * @param key of its files
 * @param parent the template it begins with, if it is one
 * @param image the image it begins with, if it is one
 */
record Beginning(
        String key,
        Map<String, String> env,
        String user,
        String workdir,
        Optional<List<String>> start,
        Optional<String> ready,
        Optional<Template> parent,
        Optional<Image> image) {
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    /** Counted up when the same instructions come to mean something else. */
    private static final int FORMAT = 1;

    static Beginning debian(String suite) {
        String key = new Hash()
                .add(FORMAT)
                .add("debian")
                .add(suite)
                .add(DebianBootstrap.architecture())
                .add(DebianBootstrap.FORMAT)
                .result();
        return fresh(key, Map.of("LANG", "C.UTF-8", "PATH", PATH), Optional.empty());
    }

    static Beginning template(Template parent) {
        String key = new Hash()
                .add(FORMAT)
                .add("template")
                .add(parent.id())
                .add(parent.recipe())
                .add(parent.createdAt().toString())
                .result();
        return new Beginning(
                key,
                parent.env(),
                parent.user(),
                parent.workdir(),
                parent.start(),
                parent.ready(),
                Optional.of(parent),
                Optional.empty());
    }

    /** Of what the image is set to, its variables alone count: users and directories are those of every sandbox. */
    static Beginning image(Image image) {
        String key = new Hash()
                .add(FORMAT)
                .add("image")
                // A digest is no secret, and whoever knows one can serve its manifest: its layers are for those alone
                // who
                // could get it from where they came from.
                .add(image.name().registry())
                .add(image.name().repository())
                .add(image.digest())
                .add(ImageRoot.FORMAT)
                .result();
        Map<String, String> env = new java.util.TreeMap<>(Map.of("PATH", PATH));
        env.putAll(image.env());
        return fresh(key, env, Optional.of(image));
    }

    private static Beginning fresh(String key, Map<String, String> env, Optional<Image> image) {
        return new Beginning(
                key, env, "user", "/home/user", Optional.empty(), Optional.empty(), Optional.empty(), image);
    }

    List<String> readOnlyHostPaths() {
        return parent.map(Template::readOnlyHostPaths).orElse(List.of());
    }
}

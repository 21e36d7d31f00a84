package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.github.luben.zstd.Zstd;
import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.TemplateSpec.Credentials;
import dev.berth.sandbox.TemplateSpec.FromImage;
import dev.berth.sandbox.TemplateSpec.Run;
import dev.berth.sandbox.local.linux.ProcessLock;
import dev.berth.sandbox.local.template.oci.RegistryConfig;
import dev.berth.sandbox.local.template.oci.TestingRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;

/** Templates of images that a registry has. Needs root, crun and docker-registry. */
@TestInstance(Lifecycle.PER_CLASS)
final class ImageTemplateTest {
    private static final List<String> PROGRAMS = List.of(
            "bash", "cat", "chown", "cp", "cut", "dirname", "env", "find", "getent", "id", "ls", "mkdir", "setpriv",
            "sleep", "timeout");
    private static final byte[] UPPER = Zstd.compress(new TarFile()
            .file(".wh.gone", "")
            .file("opaque/.wh..wh..opq", "")
            .file("opaque/new", "new")
            .file("made-by", 0600, 1000, "layer 2")
            .bytes());

    @TempDir
    private static Path dir;

    private TestingRegistry registry;
    private byte[] programs = new byte[0];
    private TemplateStore store;

    @BeforeAll
    void push() throws Exception {
        registry = new TestingRegistry(Files.createDirectory(dir.resolve("registry")));
        store = new TemplateStore(dir.resolve("templates"));
        programs = programs();
        registry.push("team/small", "1", List.of("PATH=/usr/bin:/bin", "GREETING=hello = world"), programs, UPPER);
    }

    @AfterAll
    void stop() {
        registry.close();
    }

    /** What build steps need, of this machine, with an account that has the number of the first user. */
    private byte[] programs() throws IOException {
        Path root = Files.createDirectories(dir.resolve("image"));
        TreeSet<String> files = new TreeSet<>();
        for (String program : PROGRAMS) {
            Path path = ExternalCommand.find(program).orElseThrow();
            files.add("usr/bin/" + path.getFileName());
            Files.createDirectories(root.resolve("usr/bin"));
            Files.copy(path.toRealPath(), root.resolve("usr/bin").resolve(program));
            ExternalCommand.of(List.of("ldd", path.toString())).run(line -> {
                int slash = line.indexOf('/');
                if (slash >= 0) {
                    files.add(line.substring(slash + 1).split(" ")[0]);
                }
            });
        }
        for (String file : files) {
            Path target = root.resolve(file);
            Files.createDirectories(target.getParent());
            if (!Files.exists(target)) {
                Files.copy(Path.of("/").resolve(file).toRealPath(), target);
            }
        }
        Files.createSymbolicLink(root.resolve("bin"), Path.of("usr/bin"));
        Files.createDirectories(root.resolve("etc"));
        Files.writeString(
                root.resolve("etc/passwd"), "root:x:0:0:root:/root:/bin/bash\napp:x:1000:1000::/home/app:/bin/bash");
        Files.writeString(root.resolve("etc/group"), "root:x:0:\napp:x:1000:\n");
        Files.writeString(root.resolve("gone"), "1");
        Files.createDirectories(root.resolve("opaque"));
        Files.writeString(root.resolve("opaque/old"), "1");
        Path tar = dir.resolve("image.tar.gz");
        ExternalCommand.of(List.of("tar", "-C", root.toString(), "-czf", tar.toString(), "."))
                .run(line -> {})
                .orThrow();
        return Files.readAllBytes(tar);
    }

    private TemplateBuilder builder(String... hosts) {
        List<String> known = new ArrayList<>();
        for (String host : hosts) {
            known.add("http://" + host);
        }
        return builder(RegistryConfig.of(known, Optional.empty()));
    }

    private TemplateBuilder builder(RegistryConfig registries) {
        return new TemplateBuilder(
                store,
                Map.of(),
                Clock.systemUTC(),
                new BuildConfig(registries, BuildConfig.Reach.HOST),
                Optional.empty());
    }

    private Template build(String reference, TemplateSpec.Step... steps) {
        return builder(registry.host())
                .build(TemplateSpec.of("made", new FromImage(reference, Optional.empty()), steps), event -> {});
    }

    private SandboxException failure(TemplateBuilder builder, String reference, Optional<Credentials> credentials) {
        List<BuildEvent> events = new ArrayList<>();
        return assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() ->
                        builder.build(TemplateSpec.of("made", new FromImage(reference, credentials)), events::add))
                .actual();
    }

    @Test
    void isWhatItsLayersSayWithAUserAndTheImagesVariables() throws IOException {
        Template made = build(registry.host() + "/team/small:1", Run.of("id -un > who; echo \"$GREETING\" >> who"));

        assertThat(made.root().resolve("home/user/who")).hasContent("user\nhello = world");
        assertThat(made.root().resolve("gone")).doesNotExist();
        assertThat(made.root().resolve("opaque/old")).doesNotExist();
        assertThat(made.root().resolve("opaque/new")).hasContent("new");
        assertThat(made.env()).containsEntry("GREETING", "hello = world").containsEntry("PATH", "/usr/bin:/bin");
        assertThat(made.user()).isEqualTo("user");
        assertThat(made.workdir()).isEqualTo("/home/user");
        // 1000 is somebody else's in this image
        assertThat(made.root().resolve("etc/passwd")).content().contains("user:x:1001:1001:");
        assertThat(TestingTemplates.run(made, "id -u; cat /made-by 2>&1 || true"))
                .startsWith("1001");
    }

    @Test
    void isTakenFromAListByTheKindOfTheMachine() throws Exception {
        String digest = registry.push("team/many", "x", List.of("WHICH=this"), programs);
        String other = registry.push(
                "team/many",
                "y",
                List.of("WHICH=other"),
                new TarFile().file("x", "").gzip());
        String _ = registry.list("team/many", "1", Map.of("amd64", digest, "riscv64", other));
        String _ = registry.list("team/many", "2", Map.of("riscv64", other));

        assertThat(build(registry.host() + "/team/many:1").env()).containsEntry("WHICH", "this");
        assertThat(failure(builder(registry.host()), registry.host() + "/team/many:2", Optional.empty()))
                .hasMessageContaining("linux on amd64");
    }

    @Test
    void proofOfWhoAsksIsATokenOrAPassword() throws IOException {
        Optional<Credentials> right = Optional.of(new Credentials("ann", "secret-word"));
        Optional<Credentials> wrong = Optional.of(new Credentials("ann", "guessed-word"));
        for (String host :
                List.of(registry.behindTokens("ann", "secret-word"), registry.behindPassword("ann", "secret-word"))) {
            TemplateBuilder builder = builder(host);
            String reference = host + "/team/small:1";

            assertThat(failure(builder, reference, Optional.empty()).code()).isEqualTo(ErrorCode.DENIED);
            SandboxException refused = failure(builder, reference, wrong);
            assertThat(refused.code()).isEqualTo(ErrorCode.DENIED);
            assertThat(refused).hasMessageNotContaining("guessed-word");
            assertThat(builder.build(TemplateSpec.of("private", new FromImage(reference, right)), event -> {})
                            .env())
                    .containsKey("GREETING");
        }
    }

    @Test
    void aLayerThatIsNotWhatItsDigestSaysIsRefused() throws Exception {
        byte[] honest = new TarFile().file("honest", "honest").bytes();
        registry.push("team/damaged", "1", List.of(), programs, honest);
        byte[] lie = honest.clone();
        lie[600] ^= 1;
        Files.write(registry.stored(honest), lie);

        SandboxException refused =
                failure(builder(registry.host()), registry.host() + "/team/damaged:1", Optional.empty());

        assertThat(refused).hasMessageContaining("digest");
        assertThat(refused.details()).containsEntry(BuildEvent.STEP, BuildEvent.BASE);
    }

    @Test
    void theManifestOfAnImageDoesNotGiveItsLayers() throws Exception {
        registry.push(
                "team/secret",
                "1",
                List.of(),
                programs,
                new TarFile().file("secret", "x").gzip());
        assertThat(build(registry.host() + "/team/secret:1").root().resolve("secret"))
                .exists();
        String thief = registry.withoutLayers();

        assertThat(failure(builder(thief), thief + "/team/secret:1", Optional.empty())
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void nobodyWaitsForTheRegistryOfAnother() {
        try (ProcessLock _ = lock()) {
            assertTimeoutPreemptively(
                    Duration.ofSeconds(60),
                    () -> assertThat(failure(
                                            builder(registry.host()),
                                            registry.host() + "/team/none:1",
                                            Optional.empty())
                                    .code())
                            .isEqualTo(ErrorCode.NOT_FOUND));
        }
    }

    private ProcessLock lock() {
        store.prepare();
        return ProcessLock.acquire(store.buildLock());
    }

    @Test
    void listsOfAccountsAreReadWithinBounds() throws Exception {
        StringBuilder groups = new StringBuilder();
        for (int number = 1000; number < 41_000; number++) {
            groups.append("g:x:").append(number).append(":\n");
        }
        registry.push(
                "team/groups",
                "1",
                List.of(),
                programs,
                new TarFile().file("etc/group", groups.toString()).gzip());
        registry.push(
                "team/groups",
                "2",
                List.of(),
                programs,
                new TarFile().file("etc/group", groups.toString().repeat(3)).gzip());

        Template made =
                assertTimeoutPreemptively(Duration.ofSeconds(60), () -> build(registry.host() + "/team/groups:1"));
        assertThat(made.root().resolve("etc/passwd")).content().contains("user:x:41000:41000:");
        assertThat(failure(builder(registry.host()), registry.host() + "/team/groups:2", Optional.empty()))
                .hasMessageContaining("/etc/group has to be at most 1 MB");
    }

    @Test
    void anImageThatIsNotThereOrHasNoShellIsSaidToBe() throws Exception {
        assertThat(failure(builder(registry.host()), registry.host() + "/team/none:1", Optional.empty())
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
        registry.push(
                "team/empty", "1", List.of(), new TarFile().file("file", "x").gzip());
        assertThat(failure(builder(registry.host()), registry.host() + "/team/empty:1", Optional.empty()))
                .hasMessageContaining("/bin/bash");
    }

    @Test
    void aRegistryThatCannotBeReachedIsSaidToBe() {
        assertThat(failure(builder(), "registry.no-such-name.invalid/image:1", Optional.empty()))
                .hasMessageContaining("registry.no-such-name.invalid")
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.UNAVAILABLE);
    }

    @Test
    void onlyWhatTheOperatorNamedIsAskedWithoutTlsOrAtAPrivateAddress() {
        assertThat(failure(builder(), registry.host() + "/team/small:1", Optional.empty())
                        .code())
                .isEqualTo(ErrorCode.DENIED);
        assertThat(failure(builder(), "169.254.169.254/latest/meta-data:1", Optional.empty())
                        .code())
                .isEqualTo(ErrorCode.DENIED);
    }

    @Test
    void aMirrorStandsInForDockerHub() throws Exception {
        registry.push("library/tiny", "latest", List.of("FROM=mirror"), programs);
        TemplateBuilder builder = builder(RegistryConfig.of(List.of(), Optional.of("http://" + registry.host())));

        assertThat(builder.build(TemplateSpec.of("mirrored", new FromImage("tiny", Optional.empty())), event -> {})
                        .env())
                .containsEntry("FROM", "mirror");
    }
}

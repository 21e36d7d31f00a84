package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The launcher script, in a project of its own with a JDK, a Maven and a compiler that only pretend: what it decides is
 * tested here, what it builds everywhere else.
 */
class LauncherTest {
    private static final Path LAUNCHER = Path.of("../berth").toAbsolutePath().normalize();
    private static final String SAY_ARGUMENTS = "for word; do printf '[%s]' \"$word\"; done; echo";

    @TempDir
    Path directory;

    private Path project;
    private Path jdk;
    private Path bin;

    @BeforeEach
    void aProjectInADirectoryWithASpace() throws IOException {
        project = Files.createDirectories(directory.resolve("my project"));
        script(project.resolve("berth"), Files.readString(LAUNCHER));
        write(project.resolve("pom.xml"), "");
        write(project.resolve("cli/pom.xml"), "");
        write(project.resolve("cli/src/main/java/A.java"), "");
        write(project.resolve("guest/pom.xml"), "");
        jdk = directory.resolve("jdk-25");
        jdk("25.0.3");
        bin = directory.resolve("bin");
        for (String name : List.of("gcc", "make", "crun", "mkfs.btrfs", "losetup", "mount")) {
            script(bin.resolve(name), "#!/bin/sh\nexit 0\n");
        }
        maven(
                "mkdir -p cli/target/lib demo/target/lib && touch cli/target/lib/a.jar cli/target/cli-1.jar demo/target/lib/b.jar demo/target/demo-1.jar");
    }

    @Test
    void buildsOnceAndPassesArgumentsOnAsTheyAre() throws Exception {
        Ran first = berth("run", "echo  'a b'", "", "--", "*");
        assertThat(first.code).isZero();
        assertThat(first.out).endsWith("[dev.berth.cli.Berth][run][echo  'a b'][][--][*]\n");
        assertThat(first.err).contains("building Berth");
        assertThat(berth("ls").err).isEmpty();
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void putsJarsAloneOnTheClassPath() throws Exception {
        String build = berth("ls").out;
        String name = Files.readString(project.resolve(".berth/current"))
                .lines()
                .findFirst()
                .orElseThrow();
        Path lib = project.toRealPath().resolve(".berth").resolve(name).resolve("lib");
        assertThat(build).contains("[-cp][" + lib.resolve("a.jar") + ":" + lib.resolve("cli-1.jar") + "]");
    }

    @Test
    void worksThroughALinkFromAnywhere() throws Exception {
        Path link = Files.createSymbolicLink(directory.resolve("b"), project.resolve("berth"));
        Ran ran = run(directory, List.of(link.toString(), "--version"));
        assertThat(ran.code).isZero();
        assertThat(ran.out).endsWith("[dev.berth.cli.Berth][--version]\n");
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void buildsAgainWhenASourceChangedOrWentAway() throws Exception {
        write(project.resolve("cli/src/main/java/B.java"), "");
        berth("ls");
        Files.setLastModifiedTime(
                project.resolve("cli/src/main/java/A.java"),
                FileTime.from(Instant.now().plusSeconds(1)));
        berth("ls");
        assertThat(builds()).isEqualTo(2);
        Files.setLastModifiedTime(project.resolve("cli/src/main/java/A.java"), FileTime.from(Instant.EPOCH));
        Files.delete(project.resolve("cli/src/main/java/B.java"));
        Files.setLastModifiedTime(
                project.resolve("cli/src/main/java"),
                FileTime.from(Instant.now().plusSeconds(1)));
        berth("ls");
        assertThat(builds()).isEqualTo(3);
    }

    @Test
    void doesNotBuildAgainForTestsAndDocuments() throws Exception {
        berth("ls");
        write(project.resolve("README.md"), "new");
        write(project.resolve("cli/src/test/java/ATest.java"), "new");
        write(project.resolve("cli/target/classes/A.class"), "new");
        write(project.resolve("guest/build/berth-guest"), "new");
        berth("ls");
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void buildsAgainForAnotherJdk() throws Exception {
        berth("ls");
        jdk("25.0.4");
        berth("ls");
        assertThat(builds()).isEqualTo(2);
    }

    @Test
    void letsOneOfTwoBuildWhileTheOtherWaits() throws Exception {
        maven(
                "sleep 1; mkdir -p cli/target/lib demo/target/lib && touch cli/target/lib/a.jar cli/target/cli-1.jar demo/target/lib/b.jar demo/target/demo-1.jar");
        Process one = start(project, List.of(project.resolve("berth").toString(), "ls"));
        Process two = start(project, List.of(project.resolve("berth").toString(), "ls"));
        assertThat(finish(one).code).isZero();
        assertThat(finish(two).code).isZero();
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void showsWhyABuildFailedAndTriesAgainNextTime() throws Exception {
        maven("echo 'A.java: no such thing'; exit 1");
        Ran ran = berth("ls");
        assertThat(ran.code).isEqualTo(1);
        assertThat(ran.err).contains("building Berth failed").contains("A.java: no such thing");
        berth("ls");
        assertThat(builds()).isEqualTo(2);
    }

    @Test
    void runsWithoutTheStartUpCacheIfItCannotBeMade() throws Exception {
        script(
                jdk.resolve("bin/java"),
                "#!/bin/bash\ncase \"$*\" in *AOTCacheOutput*) exit 1 ;; esac\n" + SAY_ARGUMENTS);
        Ran ran = berth("ls");
        assertThat(ran.code).isZero();
        assertThat(ran.out).doesNotContain("AOTCache").endsWith("[dev.berth.cli.Berth][ls]\n");
    }

    @Test
    void givesTheServerAnotherJvmThanCommandsThatAreOverSoon() throws Exception {
        script(bin.resolve("mmdebstrap"), "#!/bin/sh\nexit 0\n");
        assertThat(berth("up", "--port", "0").out)
                .contains("[-XX:+UseG1GC][-Xmx512m]")
                .doesNotContain("TieredStopAtLevel")
                .endsWith("[dev.berth.cli.Berth][up][--port][0]\n");
        assertThat(berth("ls").out)
                .contains("[-XX:+UseSerialGC][-XX:TieredStopAtLevel=1]")
                .doesNotContain("G1");
    }

    @Test
    void ignoresAJdkThatIsTooOld() throws Exception {
        jdk("17.0.15");
        Ran ran = berth("ls");
        // Where another JDK that is new enough is installed, that one is taken.
        assertThat(ran.out).doesNotContain(jdk.toString());
    }

    private Ran berth(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(project.resolve("berth").toString()));
        command.addAll(List.of(arguments));
        return run(directory, command);
    }

    private record Ran(int code, String out, String err) {}

    private Ran run(Path cwd, List<String> command) throws Exception {
        return finish(start(cwd, command));
    }

    private Process start(Path cwd, List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).directory(cwd.toFile());
        builder.environment().put("JAVA_HOME", jdk.toString());
        builder.environment().put("PATH", bin + ":" + System.getenv("PATH"));
        builder.environment().remove("BERTH_RUNTIME");
        return builder.start();
    }

    private static Ran finish(Process process) throws Exception {
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Ran(process.exitValue(), out, err);
    }

    private long builds() throws IOException {
        return Files.readString(project.resolve("builds")).lines().count();
    }

    private void jdk(String version) throws IOException {
        write(jdk.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n");
        script(jdk.resolve("bin/javac"), "#!/bin/sh\n");
        script(jdk.resolve("bin/java"), "#!/bin/bash\n" + SAY_ARGUMENTS);
    }

    private void maven(String does) throws IOException {
        script(bin.resolve("mvn"), "#!/bin/sh\necho build >> builds\n" + does + "\n");
    }

    private static void script(Path file, String text) throws IOException {
        write(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}

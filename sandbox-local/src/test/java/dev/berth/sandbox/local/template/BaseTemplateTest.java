package dev.berth.sandbox.local.template;

import static dev.berth.sandbox.local.template.TestingTemplates.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Builds base for real, from Debian's packages, unless this machine has it from an earlier run. */
class BaseTemplateTest {
    private static Template base;

    @BeforeAll
    static void build() {
        base = TestingTemplates.base();
    }

    @Test
    void hasTheProgramsThatAgentsReachFor() throws IOException {
        assertThat(run(
                        base,
                        "for p in bash python python3 pip node npm npx git curl rg sudo ps less nano vi unzip zip xz"
                                + " file jq apt-get; do command -v $p >/dev/null || echo missing $p; done"))
                .isEmpty();
        assertThat(run(base, "python -c 'print(6*7)'; node -e 'console.log(6*7)'; npm --version; git --version"))
                .contains("42\n42\n10.")
                .contains("git version");
    }

    @Test
    void runsCommandsAsUserInItsHome() throws IOException {
        assertThat(run(base, "id -un; id -u; pwd; echo $HOME; touch ~/x && echo writable; locale | head -1"))
                .isEqualTo("user\n1000\n/home/user\n/home/user\nwritable\nLANG=C.UTF-8");
    }

    @Test
    void hasLoginShellsThatFindWhatTheUserInstalled() throws IOException {
        assertThat(
                        run(
                                base,
                                "mkdir -p ~/.local/bin && printf '#!/bin/sh\\necho found' > ~/.local/bin/mine && chmod +x ~/.local/bin/mine"
                                        + " && bash -l -c 'mine; id -un; pwd; touch /tmp/x && command -v python3 pip node npm git curl'"))
                .isEqualTo(
                        "found\nuser\n/home/user\n/usr/bin/python3\n/usr/bin/pip\n/usr/bin/node\n/usr/local/bin/npm\n"
                                + "/usr/bin/git\n/usr/bin/curl");
    }

    @Test
    void letsTheUserBecomeRootWithoutAPassword() throws IOException {
        assertThat(base.sudo()).isTrue();
        assertThat(run(base, "sudo -n id -u")).isEqualTo("0");
    }

    @Test
    void letsTheUserInstallPackagesOfDebian() throws IOException {
        assertThat(run(
                        base,
                        "sudo -E apt-get -qq update && sudo -E apt-get -qq install tree >/dev/null && tree --version"))
                .contains("tree v");
    }

    @Test
    void letsTheUserInstallPackagesOfNodeIntoItsHome() throws IOException {
        assertThat(run(base, "npm install --silent --global semver@7.6.3 && command -v semver && semver 1.2.3"))
                .endsWith("/home/user/.local/bin/semver\n1.2.3");
    }

    @Test
    void letsTheUserInstallPackagesOfPython() throws IOException {
        assertThat(run(
                        base,
                        "mkdir p && printf 'from setuptools import setup\nsetup(name=\"hello\", py_modules=[])' > p/setup.py"
                                + " && pip install --quiet --no-build-isolation ./p && pip show hello | head -1;"
                                + " python -m venv v && v/bin/python -c 'print(6*7)'"))
                .contains("Name: hello")
                .endsWith("42");
    }

    @Test
    void comesWithDebiansPublicSourcesAndNothingOfTheBuildersMachine() throws IOException {
        assertThat(Files.readString(base.root().resolve("etc/apt/sources.list")))
                .contains("deb http://deb.debian.org/debian bookworm main");
        assertThat(Files.readString(base.root().resolve("etc/resolv.conf"))).isEmpty();
        assertThat(Files.readString(base.root().resolve("etc/hostname"))).isEqualTo("sandbox\n");
        assertThat(base.root().resolve("etc/machine-id")).isEmptyFile();
        assertThat(base.root().resolve("var/lib/apt/lists")).isEmptyDirectory();
    }

    @Test
    void hasTheMountPointsOfASandbox() throws IOException {
        for (String directory : new String[] {".berth/link", "proc", "sys", "dev", "run", "tmp"}) {
            assertThat(base.root().resolve(directory)).isDirectory();
        }
        assertThat(base.root().resolve(".berth/guest")).isEmptyFile();
        assertThat((int) Files.getAttribute(base.root().resolve("tmp"), "unix:mode") & 07777)
                .isEqualTo(01777);
    }

    @Test
    void belongsToShiftedIdsThroughAndThrough() throws IOException {
        try (var files = Files.walk(base.root())) {
            for (Path file : files.toList()) {
                assertThat((int) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS))
                        .as(file.toString())
                        .isBetween(IdMap.BASE, IdMap.BASE + IdMap.SIZE - 1);
            }
        }
        Path sudo = base.root().resolve("usr/bin/sudo");
        assertThat((int) Files.getAttribute(sudo, "unix:mode") & 04000).isNotZero();
    }

    @Test
    void isNotBuiltTwice() {
        assertThat(TestingTemplates.base()).isEqualTo(base);
    }
}

package dev.berth.sandbox.local.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SandboxPathTest {
    @ParameterizedTest
    @CsvSource({
        "/a/b, /a/b",
        "//a///b/, /a/b",
        "/a/./b/., /a/b",
        "/a/../b, /a/../b",
        "a, /home/user/a",
        "., /home/user",
        "/, /",
        "~, /home/user/~",
    })
    void isAbsoluteAndWithoutIdleComponents(String given, String text) {
        assertThat(SandboxPath.parse(given, "/home/user").text()).isEqualTo(text);
    }

    @Test
    void cannotBeEmptyOrHaveANulOrHalfACharacter() {
        assertInvalid("");
        assertInvalid("/a\0b");
        assertInvalid("/a\ud800b");
    }

    @Test
    void isAsLongAsTheKernelAllows() {
        assertThat(SandboxPath.parse("/" + "n".repeat(255), "/").text()).hasSize(256);
        assertInvalid("/" + "n".repeat(256));
        assertInvalid("/" + "ä".repeat(128));
        assertThat(SandboxPath.parse("/1234567".repeat(511), "/").bytes()).hasSize(4088);
        assertInvalid("/1234567".repeat(512));
    }

    @Test
    void hasAParentAndAName() {
        SandboxPath path = SandboxPath.parse("/a/b", "/");

        assertThat(path.parent().text()).isEqualTo("/a");
        assertThat(path.parent().parent()).isEqualTo(SandboxPath.ROOT);
        assertThat(path.name("test")).asString().isEqualTo("b");
        assertThatThrownBy(() -> SandboxPath.ROOT.name("test")).isInstanceOf(SandboxException.class);
        assertThatThrownBy(() -> SandboxPath.parse("/a/..", "/").name("test")).isInstanceOf(SandboxException.class);
    }

    private static void assertInvalid(String path) {
        assertThatThrownBy(() -> SandboxPath.parse(path, "/"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
    }
}

package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class DetachKeysTest {
    private final DetachKeys keys = new DetachKeys();

    private String pass(String typed) {
        byte[] bytes = typed.getBytes(StandardCharsets.UTF_8);
        return new String(keys.pass(bytes, bytes.length), StandardCharsets.UTF_8);
    }

    @Test
    void everythingIsPassedOnAsItIs() {
        assertThat(pass("ls -l\r\u0003\u001b[Aä")).isEqualTo("ls -l\r\u0003\u001b[Aä");
        assertThat(keys.left()).isFalse();
    }

    @Test
    void theTwoKeysLeaveAlsoWhenTheyComeOneByOne() {
        assertThat(pass("a\u001d")).isEqualTo("a");
        assertThat(keys.left()).isFalse();
        assertThat(pass("qrest")).isEmpty();
        assertThat(keys.left()).isTrue();
    }

    @Test
    void theFirstKeyTwiceIsItselfAndBeforeAnythingElseIsPassedOnWithIt() {
        assertThat(pass("\u001d\u001dq")).isEqualTo("\u001dq");
        assertThat(pass("\u001dx")).isEqualTo("\u001dx");
        assertThat(keys.left()).isFalse();
    }
}

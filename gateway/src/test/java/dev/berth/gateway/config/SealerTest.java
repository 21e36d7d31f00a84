package dev.berth.gateway.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class SealerTest {
    private static final byte[] OLD = key(1);
    private static final byte[] NEW = key(2);

    private static byte[] key(int filling) {
        byte[] key = new byte[32];
        Arrays.fill(key, (byte) filling);
        return key;
    }

    @Test
    void theFirstKeySealsAndAllOpen() {
        byte[] before = new Sealer(OLD).seal("here", "text");
        Sealer both = new Sealer(List.of(NEW, OLD));
        assertThat(both.open("here", before)).isEqualTo("text");
        byte[] after = both.seal("here", "text");
        assertThat(new Sealer(NEW).open("here", after)).isEqualTo("text");
        assertThatThrownBy(() -> new Sealer(OLD).open("here", after)).isInstanceOf(SandboxException.class);
    }

    @Test
    void otherKeysCountFromTheNextUseOn() {
        Sealer sealer = new Sealer(OLD);
        byte[] before = sealer.seal("here", "text");
        sealer.keys(List.of(NEW, OLD));
        assertThat(sealer.open("here", before)).isEqualTo("text");
        assertThat(new Sealer(NEW).open("here", sealer.seal("here", "more"))).isEqualTo("more");
    }

    @Test
    void whatWasSealedBeforeKeysHadNamesStillOpens() throws Exception {
        byte[] nonce = new byte[12];
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(OLD, "AES"), new GCMParameterSpec(128, nonce));
        cipher.updateAAD("here".getBytes(StandardCharsets.UTF_8));
        byte[] text = cipher.doFinal("text".getBytes(StandardCharsets.UTF_8));
        byte[] first = ByteBuffer.allocate(13 + text.length)
                .put((byte) 1)
                .put(nonce)
                .put(text)
                .array();
        assertThat(new Sealer(OLD).open("here", first)).isEqualTo("text");
        assertThat(new Sealer(List.of(NEW, OLD)).open("here", first)).isEqualTo("text");
    }

    @Test
    void whatIsSealedForOnePlaceOpensAtNoOther() {
        Sealer sealer = new Sealer(OLD);
        byte[] sealed = sealer.seal("here", "text");
        assertThatThrownBy(() -> sealer.open("there", sealed)).isInstanceOf(SandboxException.class);
    }

    @Test
    void everyChangedOrMissingByteIsNoticed() {
        Sealer sealer = new Sealer(List.of(NEW, OLD));
        byte[] sealed = sealer.seal("here", "text");
        for (int i = 0; i < sealed.length; i++) {
            byte[] changed = sealed.clone();
            changed[i] ^= 1;
            assertThatThrownBy(() -> sealer.open("here", changed))
                    .as("byte " + i)
                    .isInstanceOf(SandboxException.class);
            byte[] cut = Arrays.copyOf(sealed, i);
            assertThatThrownBy(() -> sealer.open("here", cut))
                    .as("%d bytes", i)
                    .isInstanceOf(SandboxException.class)
                    .hasMessageContaining("put that key back");
        }
    }

    @Test
    void aKeyOfAnotherLengthAndNoKeyAreRefused() {
        assertThatThrownBy(() -> new Sealer(new byte[16])).hasMessageContaining("32 bytes");
        assertThatThrownBy(() -> new Sealer(List.of())).hasMessageContaining("no key");
    }
}

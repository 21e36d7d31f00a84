package dev.berth.gateway.config;

import dev.berth.sandbox.SandboxException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Keeps texts from whoever can read the database: AES-256-GCM with a key that is not in it. What is sealed for one place
 * cannot be opened at another.
 */
public final class Sealer {
    private static final byte VERSION = 1;
    private static final int NONCE = 12;
    private static final int TAG_BITS = 128;
    private static final int KEY = 32;

    private final SecretKeySpec key;
    private final SecureRandom random = new SecureRandom();

    public Sealer(byte[] key) {
        if (key.length != KEY) {
            throw SandboxException.invalid("the key for sealing has to have 32 bytes, not " + key.length);
        }
        this.key = new SecretKeySpec(key, "AES");
    }

    public byte[] seal(String place, String text) {
        byte[] nonce = new byte[NONCE];
        random.nextBytes(nonce);
        try {
            byte[] sealed = cipher(Cipher.ENCRYPT_MODE, nonce, place).doFinal(text.getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.allocate(1 + NONCE + sealed.length)
                    .put(VERSION)
                    .put(nonce)
                    .put(sealed)
                    .array();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has AES-GCM", e);
        }
    }

    public String open(String place, byte[] sealed) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(sealed);
            byte version = bytes.get();
            byte[] nonce = new byte[NONCE];
            bytes.get(nonce);
            byte[] rest = new byte[bytes.remaining()];
            bytes.get(rest);
            if (version != VERSION) {
                throw new GeneralSecurityException("sealed by a newer version");
            }
            return new String(cipher(Cipher.DECRYPT_MODE, nonce, place).doFinal(rest), StandardCharsets.UTF_8);
        } catch (GeneralSecurityException | java.nio.BufferUnderflowException e) {
            throw SandboxException.unavailable(
                    "what is stored cannot be opened: it was sealed with another key; put that key back");
        }
    }

    private Cipher cipher(int mode, byte[] nonce, String place) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
        cipher.updateAAD(place.getBytes(StandardCharsets.UTF_8));
        return cipher;
    }
}

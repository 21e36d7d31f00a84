package dev.berth.gateway.config;

import dev.berth.sandbox.SandboxException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Keeps texts from whoever can read the database: AES-256-GCM with keys that are not in it. The first key seals, all of
 * them open. What is sealed for one place cannot be opened at another.
 */
public final class Sealer {
    /** Without a name of the key: any of them may be it. */
    private static final byte NAMELESS = 1;
    /** With the name of the key behind the version. */
    private static final byte NAMED = 2;

    private static final int NAME = 4;
    private static final int NONCE = 12;
    private static final int TAG_BITS = 128;
    private static final int KEY = 32;

    /** @param name a short hash: it tells keys apart, and nothing about them */
    private record Key(byte[] name, SecretKeySpec secret) {
        static Key of(byte[] key) {
            if (key.length != KEY) {
                throw SandboxException.invalid("a key for sealing has to have 32 bytes, not " + key.length);
            }
            try {
                MessageDigest hash = MessageDigest.getInstance("SHA-256");
                hash.update("berth sealing key".getBytes(StandardCharsets.UTF_8));
                return new Key(Arrays.copyOf(hash.digest(key), NAME), new SecretKeySpec(key, "AES"));
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every JDK has SHA-256", e);
            }
        }
    }

    private final SecureRandom random = new SecureRandom();
    private volatile List<Key> keys;

    public Sealer(byte[] key) {
        this(List.of(key));
    }

    /** @param keys the newest first */
    public Sealer(List<byte[]> keys) {
        this.keys = ring(keys);
    }

    /** Takes other keys from now on, the newest first. */
    public void keys(List<byte[]> others) {
        keys = ring(others);
    }

    private static List<Key> ring(List<byte[]> keys) {
        if (keys.isEmpty()) {
            throw SandboxException.invalid("there is no key for sealing");
        }
        return keys.stream().map(Key::of).toList();
    }

    public byte[] seal(String place, String text) {
        Key key = keys.getFirst();
        byte[] nonce = new byte[NONCE];
        random.nextBytes(nonce);
        try {
            byte[] sealed =
                    cipher(Cipher.ENCRYPT_MODE, key, nonce, place).doFinal(text.getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.allocate(1 + NAME + NONCE + sealed.length)
                    .put(header(key))
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
            List<Key> fitting = fitting(bytes);
            byte[] nonce = new byte[NONCE];
            bytes.get(nonce);
            byte[] rest = new byte[bytes.remaining()];
            bytes.get(rest);
            for (Key key : fitting) {
                Optional<String> text = tryOpen(key, nonce, place, rest);
                if (text.isPresent()) {
                    return text.get();
                }
            }
        } catch (BufferUnderflowException e) {
            // cut off, which is told as below
        }
        throw SandboxException.unavailable(
                "what is stored cannot be opened: it was sealed with another key; put that key back");
    }

    private static Optional<String> tryOpen(Key key, byte[] nonce, String place, byte[] sealed) {
        try {
            byte[] text = cipher(Cipher.DECRYPT_MODE, key, nonce, place).doFinal(sealed);
            return Optional.of(new String(text, StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            return Optional.empty();
        }
    }

    /** What everything begins with that the first key has sealed. */
    byte[] header() {
        return header(keys.getFirst());
    }

    private static byte[] header(Key key) {
        return ByteBuffer.allocate(1 + NAME).put(NAMED).put(key.name()).array();
    }

    private List<Key> fitting(ByteBuffer bytes) {
        return switch (bytes.get()) {
            case NAMELESS -> keys;
            case NAMED -> {
                byte[] name = new byte[NAME];
                bytes.get(name);
                yield keys.stream()
                        .filter(key -> Arrays.equals(key.name(), name))
                        .toList();
            }
            default -> List.of(); // of a newer version
        };
    }

    private static Cipher cipher(int mode, Key key, byte[] nonce, String place) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(mode, key.secret(), new GCMParameterSpec(TAG_BITS, nonce));
        cipher.updateAAD(place.getBytes(StandardCharsets.UTF_8));
        return cipher;
    }
}

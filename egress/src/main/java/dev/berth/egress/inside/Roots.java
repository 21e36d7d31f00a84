package dev.berth.egress.inside;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** The public authorities that this server's JDK trusts, for sandboxes that have no list of their own. */
final class Roots {
    /** What every JDK's own store has; it protects nothing. */
    static final String PASSWORD = "changeit";

    private static final Base64.Encoder LINES = Base64.getMimeEncoder(64, "\n".getBytes(US_ASCII));

    private volatile byte[] store = new byte[0];

    static String pem(X509Certificate certificate) {
        try {
            return "-----BEGIN CERTIFICATE-----\n" + LINES.encodeToString(certificate.getEncoded())
                    + "\n-----END CERTIFICATE-----\n";
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("a certificate that was read cannot be written", e);
        }
    }

    String pem() {
        return trusted().map(Roots::pem).collect(Collectors.joining());
    }

    /** A PKCS#12 store of them and one more, for Java. It is large and always the same, so it is kept. */
    byte[] store(X509Certificate more) {
        if (store.length == 0) {
            store = made(more);
        }
        return store;
    }

    private static byte[] made(X509Certificate more) {
        try {
            KeyStore all = KeyStore.getInstance("PKCS12");
            all.load(null, null);
            List<X509Certificate> certificates =
                    Stream.concat(trusted(), Stream.of(more)).toList();
            for (int i = 0; i < certificates.size(); i++) {
                all.setCertificateEntry("authority-" + i, certificates.get(i));
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            all.store(bytes, PASSWORD.toCharArray());
            return bytes.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException("a store in memory cannot be written", e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has PKCS#12", e);
        }
    }

    private static Stream<X509Certificate> trusted() {
        try {
            TrustManagerFactory usual = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            usual.init((KeyStore) null);
            return Arrays.stream(usual.getTrustManagers())
                    .filter(X509TrustManager.class::isInstance)
                    .flatMap(manager -> Arrays.stream(((X509TrustManager) manager).getAcceptedIssuers()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has a trust store", e);
        }
    }
}

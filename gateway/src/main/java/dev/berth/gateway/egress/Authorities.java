package dev.berth.gateway.egress;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Whom servers outside may have their certificates from: the public authorities, and those in a file of the operator's. */
final class Authorities {
    private Authorities() {}

    static KeyStore with(Path file) {
        try (InputStream pem = Files.newInputStream(file)) {
            List<Certificate> all =
                    new ArrayList<>(CertificateFactory.getInstance("X.509").generateCertificates(pem));
            if (all.isEmpty()) {
                throw new GeneralSecurityException("it has no certificate in it");
            }
            all.addAll(publicOnes());
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            for (int i = 0; i < all.size(); i++) {
                store.setCertificateEntry("authority-" + i, all.get(i));
            }
            return store;
        } catch (IOException | GeneralSecurityException e) {
            throw SandboxException.invalid("could not read the certificates in " + file + ": " + e.getMessage()
                    + "; it has to be a file of certificates as PEM");
        }
    }

    private static List<X509Certificate> publicOnes() throws GeneralSecurityException {
        TrustManagerFactory usual = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        usual.init((KeyStore) null);
        List<X509Certificate> all = new ArrayList<>();
        for (TrustManager manager : usual.getTrustManagers()) {
            if (manager instanceof X509TrustManager trusting) {
                all.addAll(List.of(trusting.getAcceptedIssuers()));
            }
        }
        return all;
    }
}

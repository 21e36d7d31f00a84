package dev.berth.egress.http;

import java.math.BigInteger;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** Who gives certificates to the servers of the tests. */
final class TestAuthority {
    static final char[] PASSWORD = "test".toCharArray();
    private static final X500Name NAME = new X500Name("CN=Test Authority");

    private final KeyPair keys = keys();
    private final X509Certificate certificate = certificate(
            NAME, NAME, keys, keys.getPrivate(), true, "ca", Instant.now().plus(Duration.ofDays(2)));

    KeyStore trust() throws Exception {
        return store("ca", certificate);
    }

    KeyStore server(String host) throws Exception {
        return server(host, Instant.now().plus(Duration.ofDays(1)));
    }

    KeyStore expired(String host) throws Exception {
        return server(host, Instant.now().minus(Duration.ofHours(1)));
    }

    private KeyStore server(String host, Instant until) throws Exception {
        KeyPair mine = keys();
        X509Certificate leaf =
                certificate(NAME, new X500Name("CN=" + host), mine, keys.getPrivate(), false, host, until);
        KeyStore store = store("ca", certificate);
        store.setKeyEntry("server", mine.getPrivate(), PASSWORD, new Certificate[] {leaf, certificate});
        return store;
    }

    static KeyStore store(String alias, X509Certificate trusted) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setCertificateEntry(alias, trusted);
        return store;
    }

    private static KeyPair keys() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (java.security.GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static X509Certificate certificate(
            X500Name issuer,
            X500Name subject,
            KeyPair keys,
            PrivateKey signer,
            boolean authority,
            String host,
            Instant until) {
        try {
            JcaX509v3CertificateBuilder builder = new JcaX509v3CertificateBuilder(
                    issuer,
                    BigInteger.valueOf(System.nanoTime()),
                    Date.from(until.minus(Duration.ofDays(3))),
                    Date.from(until),
                    subject,
                    keys.getPublic());
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(authority));
            if (!authority) {
                builder.addExtension(
                        Extension.subjectAlternativeName,
                        false,
                        new GeneralNames(new GeneralName(GeneralName.dNSName, host)));
            }
            return new JcaX509CertificateConverter()
                    .getCertificate(builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(signer)));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}

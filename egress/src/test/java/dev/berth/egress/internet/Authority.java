package dev.berth.egress.internet;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** An authority that vouches for servers of the small internet. Nothing trusts it that is not told to. */
public final class Authority {
    private static final char[] NO_PASSWORD = new char[0];

    private final KeyPair key;
    private final X509Certificate certificate;

    public Authority() {
        this("Authority of a test");
    }

    public Authority(String name) {
        key = newKey();
        X500Name me = new X500Name("CN=" + name);
        certificate = sign(me, me, key, key, true, List.of(), Instant.now().plus(Duration.ofDays(1)));
    }

    public X509Certificate certificate() {
        return certificate;
    }

    /** Its certificate as curl, python and others read it. */
    public String pem() {
        try {
            String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(certificate.getEncoded());
            return "-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n";
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a client uses that trusts this authority and no other. */
    public SSLContext trusting() {
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, NO_PASSWORD);
            store.setCertificateEntry("authority", certificate);
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a server uses that goes by these names; a name may be an address. */
    public SSLContext server(String... names) {
        return server(Instant.now().plus(Duration.ofDays(1)), names);
    }

    /** As {@link #server}, with a certificate that ran out an hour ago. */
    public SSLContext expired(String... names) {
        return server(Instant.now().minus(Duration.ofHours(1)), names);
    }

    private SSLContext server(Instant until, String... names) {
        try {
            KeyPair mine = newKey();
            X509Certificate signed = sign(
                    new X500Name(certificate.getSubjectX500Principal().getName()),
                    new X500Name("CN=" + names[0]),
                    mine,
                    key,
                    false,
                    List.of(names),
                    until);
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, NO_PASSWORD);
            store.setKeyEntry("server", mine.getPrivate(), NO_PASSWORD, new Certificate[] {signed, certificate});
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(store, NO_PASSWORD);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), null, null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static X509Certificate sign(
            X500Name issuer,
            X500Name subject,
            KeyPair mine,
            KeyPair signer,
            boolean authority,
            List<String> names,
            Instant until) {
        try {
            var builder = new JcaX509v3CertificateBuilder(
                    issuer,
                    new BigInteger(120, new SecureRandom()).add(BigInteger.ONE),
                    Date.from(until.minus(Duration.ofDays(2))),
                    Date.from(until),
                    subject,
                    mine.getPublic());
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(authority));
            if (!names.isEmpty()) {
                builder.addExtension(
                        Extension.subjectAlternativeName,
                        false,
                        new GeneralNames(names.stream()
                                .map(name -> new GeneralName(
                                        name.matches("[0-9.]+|.*:.*") ? GeneralName.iPAddress : GeneralName.dNSName,
                                        name))
                                .toArray(GeneralName[]::new)));
            }
            byte[] encoded = builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(signer.getPrivate()))
                    .getEncoded();
            return (X509Certificate)
                    CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(encoded));
        } catch (GeneralSecurityException | OperatorCreationException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static KeyPair newKey() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(256);
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}

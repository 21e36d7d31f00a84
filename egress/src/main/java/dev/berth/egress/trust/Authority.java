package dev.berth.egress.trust;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.X500NameBuilder;
import org.bouncycastle.asn1.x500.style.BCStyle;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.openssl.PEMParser;
import org.bouncycastle.openssl.jcajce.JcaPEMKeyConverter;
import org.bouncycastle.openssl.jcajce.JcaPEMWriter;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.util.io.pem.PemObject;

/**
 * A certificate authority of Berth's own, made once per server; its key never leaves the server's directory. The one of the
 * way out is trusted by sandboxes, so that it can open their TLS to hosts it has to look inside, and is of use against its
 * own sandboxes only. Others are trusted by clients who choose to, and say who this server is.
 */
public final class Authority {
    /**
     * What an authority is for.
     *
     * @param file how the names of its files begin
     * @param name how it is called in certificates
     */
    public record Purpose(String file, String name) {
        public static final Purpose EGRESS = new Purpose("egress-ca", "Berth egress");

        Path key(Path directory) {
            return directory.resolve(file + ".key");
        }

        Path certificate(Path directory) {
            return directory.resolve(file + ".pem");
        }

        Path lock(Path directory) {
            return directory.resolve(file + ".lock");
        }
    }

    private static final Duration LIFE = Duration.ofDays(3650);
    /** With less than this, nothing that lasts for a while can be certified any more. */
    private static final Duration LEFT = Duration.ofDays(180);

    private static final Duration LEAF_LIFE = Duration.ofDays(7);
    private static final Duration LEAF_LEFT = Duration.ofDays(3);
    /** Clocks inside and outside are the same, but a restored sandbox may not know yet. */
    private static final Duration EARLIER = Duration.ofDays(1);

    private static final int MOST_LEAVES = 1024;
    private static final String SIGNATURE = "SHA256withECDSA";

    private final Purpose purpose;
    private final Clock clock;
    private final SecureRandom random;
    private final PrivateKey key;
    private final X509Certificate certificate;
    /** One pair for all hosts: whoever had it could be any of them through the authority's key beside it anyway. */
    private final KeyPair leafKeys;
    /** The least recently used go first. Guarded by itself. */
    private final Map<String, Leaf> leaves = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Leaf> eldest) {
            return size() > MOST_LEAVES;
        }
    };

    private record Leaf(SSLContext context, Instant renew) {}

    private record Pair(PrivateKey key, X509Certificate certificate) {
        boolean lastsUntil(Instant moment) {
            return certificate.getNotAfter().toInstant().isAfter(moment);
        }
    }

    private Authority(Purpose purpose, Clock clock, SecureRandom random, Pair pair, KeyPair leafKeys) {
        this.purpose = purpose;
        this.clock = clock;
        this.random = random;
        this.key = pair.key;
        this.certificate = pair.certificate;
        this.leafKeys = leafKeys;
    }

    /** That of the way out, see {@link #in(Path, Purpose, Clock, SecureRandom)}. */
    public static Authority in(Path directory, Clock clock, SecureRandom random) throws IOException {
        return in(directory, Purpose.EGRESS, clock, random);
    }

    /**
     * Loads what is in the directory, or makes it there, anew if it is about to run out. Servers that start in the same
     * directory get the same.
     */
    public static Authority in(Path directory, Purpose purpose, Clock clock, SecureRandom random) throws IOException {
        Files.createDirectories(directory);
        try (FileChannel channel =
                        FileChannel.open(purpose.lock(directory), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = channel.lock()) {
            Instant now = clock.instant();
            // The certificate is written last, so that where it is, its key is too.
            Optional<Pair> kept = Files.exists(purpose.certificate(directory))
                    ? Optional.of(load(directory, purpose)).filter(pair -> pair.lastsUntil(now.plus(LEFT)))
                    : Optional.empty();
            Pair pair = kept.isPresent() ? kept.get() : make(directory, purpose, now, random);
            return new Authority(purpose, clock, random, pair, newKeys(random));
        } catch (GeneralSecurityException | OperatorCreationException e) {
            throw new IOException("cannot make a certificate authority in " + directory, e);
        }
    }

    /** Its certificate, for the places where programs look for whom to trust. */
    public String certificatePem() {
        return pem(certificate);
    }

    public X509Certificate certificate() {
        return certificate;
    }

    /** What it takes to be a host, in the eyes of a sandbox. */
    public SSLContext context(String host) throws GeneralSecurityException {
        Instant now = clock.instant();
        synchronized (leaves) {
            Leaf leaf = leaves.get(host);
            if (leaf != null && now.isBefore(leaf.renew)) {
                return leaf.context;
            }
        }
        Leaf fresh = new Leaf(newContext(host, now), now.plus(LEAF_LIFE).minus(LEAF_LEFT));
        synchronized (leaves) {
            leaves.put(host, fresh);
        }
        return fresh.context;
    }

    int cached() {
        synchronized (leaves) {
            return leaves.size();
        }
    }

    private SSLContext newContext(String host, Instant now) throws GeneralSecurityException {
        char[] none = new char[0];
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(keyStore(List.of(host), LEAF_LIFE, none, now), none);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, random);
        return context;
    }

    /**
     * A key and its certificate for all of these hosts, which may begin with a wildcard. It is nowhere but in memory.
     *
     * @param password by which the key is taken out again
     */
    public KeyStore keyStore(List<String> hosts, Duration life, char[] password) throws GeneralSecurityException {
        return keyStore(hosts, life, password, clock.instant());
    }

    private KeyStore keyStore(List<String> hosts, Duration life, char[] password, Instant now)
            throws GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try {
            store.load(null, null);
        } catch (IOException e) {
            throw new GeneralSecurityException("an empty key store cannot be made", e);
        }
        Certificate[] chain = {issue(hosts, life, now), certificate};
        store.setKeyEntry("leaf", leafKeys.getPrivate(), password, chain);
        return store;
    }

    private static GeneralName alternative(String host) {
        boolean address = host.indexOf(':') >= 0 || Character.isDigit(host.charAt(host.length() - 1));
        return address
                ? new GeneralName(
                        GeneralName.iPAddress, InetAddress.ofLiteral(host).getHostAddress())
                : new GeneralName(GeneralName.dNSName, host);
    }

    private X509Certificate issue(List<String> hosts, Duration life, Instant now) throws GeneralSecurityException {
        GeneralName[] names = hosts.stream().map(Authority::alternative).toArray(GeneralName[]::new);
        try {
            X509v3CertificateBuilder builder = new JcaX509v3CertificateBuilder(
                            certificate,
                            serial(random),
                            Date.from(later(
                                    now.minus(EARLIER),
                                    certificate.getNotBefore().toInstant())),
                            Date.from(earlier(
                                    now.plus(life), certificate.getNotAfter().toInstant())),
                            // A common name has at most 64 characters, and nobody looks at it.
                            name(purpose.name()),
                            leafKeys.getPublic())
                    .addExtension(Extension.basicConstraints, true, new BasicConstraints(false))
                    .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature))
                    .addExtension(
                            Extension.extendedKeyUsage, false, new ExtendedKeyUsage(KeyPurposeId.id_kp_serverAuth))
                    .addExtension(Extension.subjectAlternativeName, false, new GeneralNames(names))
                    .addExtension(
                            Extension.authorityKeyIdentifier,
                            false,
                            new JcaX509ExtensionUtils().createAuthorityKeyIdentifier(certificate))
                    .addExtension(
                            Extension.subjectKeyIdentifier,
                            false,
                            new JcaX509ExtensionUtils().createSubjectKeyIdentifier(leafKeys.getPublic()));
            return sign(builder, key);
        } catch (IOException | OperatorCreationException e) {
            throw new GeneralSecurityException("cannot make a certificate for " + String.join(", ", hosts), e);
        }
    }

    private static Instant later(Instant a, Instant b) {
        return a.isAfter(b) ? a : b;
    }

    private static Instant earlier(Instant a, Instant b) {
        return a.isBefore(b) ? a : b;
    }

    // ---- made once -----------------------------------------------------------------------------------------------

    private static Pair make(Path directory, Purpose purpose, Instant now, SecureRandom random)
            throws IOException, GeneralSecurityException, OperatorCreationException {
        KeyPair keys = newKeys(random);
        // Its serial number in the name: programs that see two authorities of one name take the wrong one.
        BigInteger serial = serial(random);
        X500Name name = name(purpose.name() + " " + serial.toString(16).substring(0, 8));
        X509v3CertificateBuilder builder = new JcaX509v3CertificateBuilder(
                        name, serial, Date.from(now.minus(EARLIER)), Date.from(now.plus(LIFE)), name, keys.getPublic())
                .addExtension(Extension.basicConstraints, true, new BasicConstraints(0))
                .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign))
                .addExtension(
                        Extension.subjectKeyIdentifier,
                        false,
                        new JcaX509ExtensionUtils().createSubjectKeyIdentifier(keys.getPublic()));
        X509Certificate certificate = sign(builder, keys.getPrivate());
        // A certificate beside a key that is not its own would be refused at every start.
        Files.deleteIfExists(purpose.certificate(directory));
        // As PKCS #8, which names the curve in the way that the JDK reads.
        write(
                purpose.key(directory),
                pem(new PemObject("PRIVATE KEY", keys.getPrivate().getEncoded())),
                "rw-------");
        write(purpose.certificate(directory), pem(certificate), "rw-r--r--");
        return new Pair(keys.getPrivate(), certificate);
    }

    private static Pair load(Path directory, Purpose purpose) throws IOException, GeneralSecurityException {
        try (PEMParser keyFile = new PEMParser(new StringReader(Files.readString(purpose.key(directory))));
                PEMParser certificateFile =
                        new PEMParser(new StringReader(Files.readString(purpose.certificate(directory))))) {
            if (!(keyFile.readObject() instanceof PrivateKeyInfo info)
                    || !(certificateFile.readObject() instanceof X509CertificateHolder holder)) {
                throw new IOException(broken(directory, purpose));
            }
            PrivateKey key = new JcaPEMKeyConverter().getPrivateKey(info);
            X509Certificate certificate = new JcaX509CertificateConverter().getCertificate(holder);
            if (!belongsTo(key, certificate.getPublicKey())) {
                throw new IOException(broken(directory, purpose));
            }
            return new Pair(key, certificate);
        }
    }

    private static String broken(Path directory, Purpose purpose) {
        return purpose.key(directory).getFileName() + " and "
                + purpose.certificate(directory).getFileName() + " in " + directory
                + " are not a key and its certificate; remove both, and" + " they are made anew at the next start";
    }

    private static boolean belongsTo(PrivateKey key, PublicKey other) throws GeneralSecurityException {
        byte[] something = "berth".getBytes(StandardCharsets.US_ASCII);
        Signature signature = Signature.getInstance(SIGNATURE);
        signature.initSign(key);
        signature.update(something);
        byte[] signed = signature.sign();
        signature.initVerify(other);
        signature.update(something);
        return signature.verify(signed);
    }

    private static KeyPair newKeys(SecureRandom random) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"), random);
        return generator.generateKeyPair();
    }

    private static BigInteger serial(SecureRandom random) {
        return new BigInteger(126, random).setBit(126);
    }

    private static X500Name name(String common) {
        return new X500NameBuilder(BCStyle.INSTANCE).addRDN(BCStyle.CN, common).build();
    }

    private static X509Certificate sign(X509v3CertificateBuilder builder, PrivateKey key)
            throws GeneralSecurityException, OperatorCreationException {
        return new JcaX509CertificateConverter()
                .getCertificate(builder.build(new JcaContentSignerBuilder(SIGNATURE).build(key)));
    }

    private static String pem(Object what) {
        StringWriter text = new StringWriter();
        try (JcaPEMWriter writer = new JcaPEMWriter(text)) {
            writer.writeObject(what);
        } catch (IOException e) {
            throw new UncheckedIOException("text in memory can be written", e);
        }
        return text.toString();
    }

    /** All of it or nothing, with its permissions from the beginning. */
    private static void write(Path place, String text, String permissions) throws IOException {
        Path fresh = place.resolveSibling(place.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        try (FileChannel file = FileChannel.open(
                fresh,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions)))) {
            ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
            while (bytes.hasRemaining()) {
                file.write(bytes);
            }
            file.force(true);
        }
        Files.move(fresh, place, StandardCopyOption.ATOMIC_MOVE);
    }
}

package dev.berth.egress.inside;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.util.Locale;
import org.bouncycastle.asn1.ASN1EncodableVector;
import org.bouncycastle.asn1.ASN1Encoding;
import org.bouncycastle.asn1.DERSequence;
import org.bouncycastle.asn1.DERSet;
import org.bouncycastle.asn1.DERUTF8String;
import org.bouncycastle.asn1.x500.AttributeTypeAndValue;
import org.bouncycastle.asn1.x500.RDN;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.style.IETFUtils;

/** The number by which OpenSSL finds the certificate of an issuer in a directory, see openssl-rehash(1). */
final class SubjectHash {
    private SubjectHash() {}

    static String of(X509Certificate certificate) {
        try {
            ByteArrayOutputStream canonical = new ByteArrayOutputStream();
            X500Name subject =
                    X500Name.getInstance(certificate.getSubjectX500Principal().getEncoded());
            for (RDN part : subject.getRDNs()) {
                ASN1EncodableVector values = new ASN1EncodableVector();
                for (AttributeTypeAndValue value : part.getTypesAndValues()) {
                    ASN1EncodableVector pair = new ASN1EncodableVector();
                    pair.add(value.getType());
                    pair.add(new DERUTF8String(canonical(IETFUtils.valueToString(value.getValue()))));
                    values.add(new DERSequence(pair));
                }
                canonical.write(new DERSet(values).getEncoded(ASN1Encoding.DER));
            }
            byte[] hash = MessageDigest.getInstance("SHA-1").digest(canonical.toByteArray());
            int number = ByteBuffer.wrap(hash).order(ByteOrder.LITTLE_ENDIAN).getInt();
            return String.format(Locale.ROOT, "%08x", number);
        } catch (IOException e) {
            throw new UncheckedIOException("a subject that was read cannot be written", e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has SHA-1", e);
        }
    }

    private static String canonical(String value) {
        return value.strip().replaceAll("\\s+", " ").toLowerCase(Locale.ROOT);
    }
}

package dev.berth.egress.http;

import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.egress.policy.Target;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.SocketTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.eclipse.jetty.client.HttpResponseException;
import org.eclipse.jetty.http.HttpException;

/** What went wrong with a server outside, in words. Never in its own, which may hold what a request held. */
final class Failures {
    private static final int DEEPEST = 16;

    private Failures() {}

    static Refusal of(Target target, Throwable failure) {
        Optional<Refusal> ours = cause(failure, Refusal.class);
        if (ours.isPresent()) {
            return ours.get();
        }
        if (has(failure, CertificateExpiredException.class)) {
            return refusal(Reason.CERTIFICATE, "the certificate of " + target + " has expired");
        }
        if (has(failure, CertificateNotYetValidException.class)) {
            return refusal(Reason.CERTIFICATE, "the certificate of " + target + " is not valid yet");
        }
        if (has(failure, CertPathValidatorException.class)
                || has(failure, java.security.cert.CertPathBuilderException.class)) {
            return refusal(Reason.CERTIFICATE, "the certificate of " + target + " comes from nobody that is trusted");
        }
        if (has(failure, CertificateException.class)) {
            return refusal(Reason.CERTIFICATE, "the certificate of " + target + " is not one for this host");
        }
        if (has(failure, SSLException.class)) {
            return refusal(Reason.UPSTREAM_GARBAGE, target + " and the proxy could not agree on how to speak TLS");
        }
        if (has(failure, HttpException.class)) {
            return garbage(target);
        }
        if (has(failure, HttpResponseException.class) || has(failure, java.util.zip.ZipException.class)) {
            return garbage(target);
        }
        if (has(failure, SocketTimeoutException.class)) {
            return refusal(Reason.UNREACHABLE, target + " does not answer when it is connected to");
        }
        if (has(failure, ConnectException.class)
                || has(failure, NoRouteToHostException.class)
                || has(failure, PortUnreachableException.class)
                || has(failure, UnresolvedAddressException.class)) {
            return refusal(Reason.UNREACHABLE, target + " cannot be connected to");
        }
        if (has(failure, TimeoutException.class)) {
            return refusal(Reason.UPSTREAM_TIMEOUT, target + " has said nothing for too long");
        }
        if (has(failure, RejectedExecutionException.class)) {
            return refusal(
                    Reason.UNAVAILABLE,
                    "too many requests to " + target + " wait for their turn; send fewer at a time");
        }
        return refusal(Reason.UPSTREAM_RESET, target + " broke off");
    }

    static Refusal garbage(Target target) {
        return refusal(Reason.UPSTREAM_GARBAGE, target + " does not answer as HTTP wants it");
    }

    private static Refusal refusal(Reason reason, String sentence) {
        return new Refusal(reason, sentence);
    }

    private static boolean has(Throwable failure, Class<?> kind) {
        return cause(failure, kind).isPresent();
    }

    private static <T> Optional<T> cause(Throwable failure, Class<T> kind) {
        return Stream.iterate(failure, java.util.Objects::nonNull, Throwable::getCause)
                .limit(DEEPEST)
                .filter(kind::isInstance)
                .map(kind::cast)
                .findFirst();
    }
}

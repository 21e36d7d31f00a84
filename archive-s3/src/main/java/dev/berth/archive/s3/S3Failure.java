package dev.berth.archive.s3;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Optional;
import javax.net.ssl.SSLException;
import software.amazon.awssdk.awscore.exception.AwsErrorDetails;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.ApiCallAttemptTimeoutException;
import software.amazon.awssdk.core.exception.ApiCallTimeoutException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * What a failure of the SDK means to the person who has to act. Of an answer only the code, the status and the request's
 * id are repeated: its text can quote what was sent.
 */
final class S3Failure {
    private S3Failure() {}

    /** The sentence "could not …: why; what to try", for what could not be done. */
    static SandboxException of(String what, S3Config config, SdkException e) {
        if (e instanceof S3Exception answer) {
            return ofAnswer("could not " + what + " " + config.location() + ": ", config, answer);
        }
        return SandboxException.unavailable(
                "could not " + what + " " + config.location() + ": " + reason(e)
                        + config.endpoint()
                                .map(it -> "; check the endpoint, and that the server there runs and can be reached")
                                .orElse("; check the region, and the way from here to Amazon"),
                e);
    }

    private static SandboxException ofAnswer(String what, S3Config config, S3Exception e) {
        String code = Optional.ofNullable(e.awsErrorDetails())
                .map(AwsErrorDetails::errorCode)
                .orElse("");
        String answer = " (" + (code.isEmpty() ? "" : code + ", ") + "status " + e.statusCode()
                + (e.requestId() == null ? "" : ", request " + e.requestId()) + ")";
        if (code.equals("NoSuchBucket")) {
            return SandboxException.unavailable(
                    what + "there is no bucket '" + config.bucket() + "'" + answer
                            + "; check its name, the region and the endpoint, or make it",
                    e);
        }
        if (e.statusCode() / 100 == 3 || code.equals("AuthorizationHeaderMalformed")) {
            return SandboxException.unavailable(
                    what + "the bucket is in another region" + region(e) + answer + "; check region and endpoint", e);
        }
        if (e.statusCode() == 401 || e.statusCode() == 403) {
            return new SandboxException(ErrorCode.DENIED, what + denial(code) + answer, e);
        }
        if (e.statusCode() == 412) {
            return SandboxException.unavailable(what + "it was replaced meanwhile" + answer + "; try again", e);
        }
        if (code.equals("BadDigest") || code.equals("XAmzContentSHA256Mismatch") || code.equals("InvalidDigest")) {
            return SandboxException.unavailable(
                    what + "other bytes arrived than were sent" + answer
                            + "; check that nothing writes to the file, and try again",
                    e);
        }
        return SandboxException.unavailable(
                what + "the store refused or failed" + answer
                        + "; try again, and check endpoint, bucket and region if it stays so",
                e);
    }

    private static String denial(String code) {
        return switch (code) {
            case "SignatureDoesNotMatch", "InvalidAccessKeyId", "InvalidToken", "ExpiredToken" ->
                "the credentials are not accepted; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile or the "
                        + "role, and that they are for this endpoint";
            case "RequestTimeTooSkewed" -> "the clocks differ too much; set the clock of this machine";
            default ->
                "access is denied; check the credentials, and that they may list, read, write and delete in the bucket";
        };
    }

    private static String region(S3Exception e) {
        return Optional.ofNullable(e.awsErrorDetails())
                .map(AwsErrorDetails::sdkHttpResponse)
                .flatMap(it -> it.firstMatchingHeader("x-amz-bucket-region"))
                .map(it -> ", " + it)
                .orElse("");
    }

    private static String reason(SdkException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            switch (cause) {
                case AbortedException _, InterruptedException _ -> {
                    return "it was interrupted";
                }
                case ApiCallTimeoutException _, ApiCallAttemptTimeoutException _, SocketTimeoutException _ -> {
                    return "there was no answer in time";
                }
                case UnknownHostException _ -> {
                    return "the name of the host is not known";
                }
                case ConnectException _ -> {
                    return "no connection was accepted";
                }
                case SSLException _ -> {
                    return "no trusted connection by TLS";
                }
                default -> {}
            }
        }
        return "the connection broke";
    }
}

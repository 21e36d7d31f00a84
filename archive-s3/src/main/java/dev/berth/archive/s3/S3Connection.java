package dev.berth.archive.s3;

import dev.berth.sandbox.SandboxException;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.core.retry.RetryMode;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;
import software.amazon.awssdk.services.s3.S3Client;

/**
 * Sets the SDK up. What it cannot find or read in the files and variables of AWS is told without the SDK's exception,
 * which may quote a line of a file with secrets.
 */
final class S3Connection {
    private S3Connection() {}

    static S3Client open(S3Config config, Patience patience) {
        Region region = region(config);
        AwsCredentialsProvider credentials = credentials(config);
        try {
            var builder = S3Client.builder()
                    .region(region)
                    .credentialsProvider(credentials)
                    .forcePathStyle(config.pathStyle())
                    // We send checksums of our own. The SDK's would be in trailers, which many stores do not know, and
                    // the same goes for bodies in signed chunks.
                    .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                    .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                    .serviceConfiguration(it -> it.chunkedEncodingEnabled(false))
                    .httpClientBuilder(defaults -> new HttpClient(UrlConnectionHttpClient.builder()
                            .connectionTimeout(patience.connect())
                            .socketTimeout(patience.silence())
                            .buildWithDefaults(defaults)))
                    .overrideConfiguration(it -> it.retryStrategy(RetryMode.STANDARD)
                            .apiCallAttemptTimeout(patience.attemptFor(0))
                            .apiCallTimeout(patience.totalFor(0)));
            config.endpoint().ifPresent(builder::endpointOverride);
            return builder.build();
        } catch (SdkClientException | IllegalArgumentException | IllegalStateException e) {
            throw SandboxException.unavailable(
                    "could not open the archives in " + config.location()
                            + ": the settings of AWS on this machine cannot be used; check the variables AWS_* and ~/.aws/config");
        }
    }

    private static Region region(S3Config config) {
        if (config.region().isPresent()) {
            return Region.of(config.region().get());
        }
        if (config.endpoint().isPresent()) {
            return Region.US_EAST_1;
        }
        try {
            return new DefaultAwsRegionProviderChain().getRegion();
        } catch (SdkClientException | IllegalArgumentException | IllegalStateException e) {
            throw SandboxException.unavailable("could not open the archives in " + config.location()
                    + ": no region is set; add region=… to the URL, or set AWS_REGION");
        }
    }

    private static AwsCredentialsProvider credentials(S3Config config) {
        if (config.credentials().isPresent()) {
            return StaticCredentialsProvider.create(
                    config.credentials().map(S3Connection::credentials).get());
        }
        DefaultCredentialsProvider chain = DefaultCredentialsProvider.builder().build();
        try {
            chain.resolveCredentials();
            return chain;
        } catch (SdkClientException | IllegalArgumentException | IllegalStateException e) {
            chain.close();
            throw SandboxException.unavailable("could not open the archives in " + config.location()
                    + ": no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, set AWS_PROFILE to a "
                    + "profile that has them, or give this machine a role");
        }
    }

    private static AwsCredentials credentials(S3Config.Credentials given) {
        return given.sessionToken()
                .<AwsCredentials>map(
                        token -> AwsSessionCredentials.create(given.accessKeyId(), given.secretAccessKey(), token))
                .orElseGet(() -> AwsBasicCredentials.create(given.accessKeyId(), given.secretAccessKey()));
    }
}

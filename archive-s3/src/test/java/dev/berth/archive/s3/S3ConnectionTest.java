package dev.berth.archive.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.services.s3.S3Client;

/** What is found, and what is said when nothing is found, in the settings that AWS's tools share. */
class S3ConnectionTest {
    private static final S3Config NO_CREDENTIALS = S3Config.of("s3://my-bucket?endpoint=http://127.0.0.1:1");

    @TempDir
    Path home;

    private Properties before;

    @BeforeEach
    void keepProperties() {
        before = (Properties) System.getProperties().clone();
    }

    @AfterEach
    void restoreProperties() {
        System.setProperties(before);
    }

    @Test
    void takesCredentialsFromTheProfile() throws IOException {
        profile("[default]", "aws_access_key_id = the-access-key", "aws_secret_access_key = the-secret-key");
        try (S3Client s3 = S3Connection.open(NO_CREDENTIALS, Patience.DEFAULT)) {
            assertThat(s3.serviceClientConfiguration()
                            .credentialsProvider()
                            .resolveIdentity()
                            .join()
                            .accessKeyId())
                    .isEqualTo("the-access-key");
        }
    }

    @Test
    void saysWhereToPutCredentialsWhenThereAreNone() {
        assertUnavailable(NO_CREDENTIALS)
                .hasMessageContaining("no credentials were found")
                .hasMessageContaining("AWS_SECRET_ACCESS_KEY");
    }

    @Test
    void doesNotQuoteAProfileThatCannotBeRead() throws IOException {
        profile("[default]", "aws_access_key_id = the-access-key", "the-secret-key on a line of its own");
        assertUnavailable(NO_CREDENTIALS)
                .hasMessageNotContaining("the-secret-key")
                .hasNoCause();
    }

    @Test
    void asksForARegionWhenAmazonIsMeantAndNoneIsSet() {
        assertUnavailable(S3Config.of("s3://my-bucket").withCredentials(TestingS3.CREDENTIALS))
                .hasMessageContaining("no region is set")
                .hasMessageContaining("AWS_REGION");
    }

    private void profile(String... lines) throws IOException {
        Path file = Files.write(home.resolve("credentials"), List.of(lines));
        System.setProperty("aws.sharedCredentialsFile", file.toString());
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> assertUnavailable(S3Config config) {
        return assertThatThrownBy(
                        () -> S3Connection.open(config, Patience.DEFAULT).close())
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNAVAILABLE));
    }
}

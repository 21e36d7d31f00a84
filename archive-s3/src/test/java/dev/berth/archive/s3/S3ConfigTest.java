package dev.berth.archive.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.archive.s3.S3Config.Credentials;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class S3ConfigTest {
    @Test
    void readsEverySetting() {
        assertThat(
                        S3Config.of(
                                "s3://my-bucket/some/prefix/?endpoint=http://127.0.0.1:9000&region=eu-central-1&path-style=false"))
                .isEqualTo(new S3Config(
                        "my-bucket",
                        "some/prefix",
                        Optional.of(URI.create("http://127.0.0.1:9000")),
                        Optional.of("eu-central-1"),
                        false,
                        Optional.empty()));
    }

    @Test
    void isAmazonWithWhatTheEnvironmentSaysByDefault() {
        S3Config expected = new S3Config("my-bucket", "", Optional.empty(), Optional.empty(), false, Optional.empty());
        assertThat(S3Config.of("s3://my-bucket")).isEqualTo(expected);
        assertThat(S3Config.parse(URI.create("s3://my-bucket/"))).isEqualTo(expected);
    }

    @Test
    void takesThePathStyleForOtherStoresByDefault() {
        assertThat(S3Config.of("s3://my-bucket?endpoint=https%3A%2F%2Fminio.example%3A9000"))
                .extracting(S3Config::pathStyle, S3Config::endpoint)
                .containsExactly(true, Optional.of(URI.create("https://minio.example:9000")));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "s3://hunter2:hunter2@my-bucket/prefix",
                "s3://my-bucket/prefix?secret-access-key=hunter2",
                "s3://my-bucket/prefix?AWS_ACCESS_KEY_ID=hunter2",
                "s3://my-bucket?token=hunter2",
                "s3://my-bucket?endpoint=http://hunter2:hunter2@127.0.0.1:9000",
            })
    void refusesCredentialsAndSaysWhereTheyBelong(String url) {
        assertThatThrownBy(() -> S3Config.of(url))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID))
                .hasMessageContaining("AWS_SECRET_ACCESS_KEY")
                .hasMessageContaining("role")
                .hasStackTraceContaining("S3Config")
                .satisfies(e -> assertThat(e).hasMessageNotContaining("hunter2").hasNoCause());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "my-bucket",
                "http://my-bucket",
                "s3:my-bucket",
                "s3:///prefix",
                "s3://My_Bucket",
                "s3://b",
                "s3://my-bucket/a//b",
                "s3://my-bucket/../b",
                "s3://my-bucket/a/./b",
                "s3://my-bucket/a%20b",
                "s3://my-bucket/hunter2 hunter2",
                "s3://my-bucket#hunter2",
                "s3://my-bucket?unknown=hunter2",
                "s3://my-bucket?region",
                "s3://my-bucket?region=",
                "s3://my-bucket?region=a&region=b",
                "s3://my-bucket?path-style=yes",
                "s3://my-bucket?endpoint=127.0.0.1:9000",
                "s3://my-bucket?endpoint=ftp://127.0.0.1",
                "s3://my-bucket?endpoint=http://127.0.0.1/?a=hunter2",
            })
    void refusesWhatItCannotUseWithoutRepeatingIt(String url) {
        assertThatThrownBy(() -> S3Config.of(url))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID))
                .hasMessageContaining("s3://bucket/prefix")
                .hasMessageNotContaining("hunter2");
    }

    @Test
    void doesNotPrintCredentials() {
        S3Config config = S3Config.of("s3://my-bucket")
                .withCredentials(new Credentials("the-access-key", "the-secret-key", Optional.of("the-token")));
        assertThat(config.toString()).contains("my-bucket").doesNotContain("the-");
    }
}

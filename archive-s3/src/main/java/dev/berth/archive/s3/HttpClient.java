package dev.berth.archive.s3;

import java.io.IOException;
import java.io.UncheckedIOException;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;

/**
 * The SDK's small HTTP client, with its failures as the SDK's own rules want them: it wraps some of what goes wrong with a
 * connection in an {@link UncheckedIOException}, and on those the SDK does not try again.
 */
final class HttpClient implements SdkHttpClient {
    private final SdkHttpClient client;

    HttpClient(SdkHttpClient client) {
        this.client = client;
    }

    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
        ExecutableHttpRequest prepared = client.prepareRequest(request);
        return new ExecutableHttpRequest() {
            @Override
            public HttpExecuteResponse call() throws IOException {
                try {
                    return prepared.call();
                } catch (UncheckedIOException e) {
                    throw new IOException(e.getCause());
                }
            }

            @Override
            public void abort() {
                prepared.abort();
            }
        };
    }

    @Override
    public String clientName() {
        return client.clientName();
    }

    @Override
    public void close() {
        client.close();
    }
}

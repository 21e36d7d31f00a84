package dev.berth.egress.internet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.Test;

/** The other tests mean something only if their internet is there. */
class InternetTest {

    @Test
    void sitesAreReachedAtEveryKindOfAddress() throws Exception {
        try (Internet internet = Internet.start();
                HttpClient client = HttpClient.newHttpClient()) {
            for (InetAddress address : new InetAddress[] {
                internet.address(7), internet.address6(7), internet.closedAddress(7), Internet.METADATA
            }) {
                internet.http(address, 80, "hello");
                String host = address.getHostAddress();
                URI uri = URI.create("http://" + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + "/there?x=1");
                assertThat(client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
                                .body())
                        .startsWith("hello\nGET /there?x=1\n");
            }
        }
    }

    @Test
    void sitesWithTlsAreVouchedForByTheAuthorityAlone() throws Exception {
        try (Internet internet = Internet.start()) {
            String host = internet.address(8).getHostAddress();
            internet.https(
                    internet.address(8), 443, "hello", internet.authority().server(host));
            HttpRequest request =
                    HttpRequest.newBuilder(URI.create("https://" + host + "/")).build();
            try (HttpClient trusting = HttpClient.newBuilder()
                            .sslContext(internet.authority().trusting())
                            .build();
                    HttpClient usual = HttpClient.newHttpClient()) {
                assertThat(trusting.send(request, BodyHandlers.ofString()).body())
                        .startsWith("hello");
                assertThatThrownBy(() -> usual.send(request, BodyHandlers.ofString()))
                        .hasMessageContaining("PKIX");
            }
        }
    }

    @Test
    void severalAreThereAtATime() throws Exception {
        try (Internet one = Internet.start();
                Internet other = Internet.start()) {
            assertThat(one.address(3)).isNotEqualTo(other.address(3));
            try (var listening = one.listen(one.address(3), 9);
                    Socket socket = new Socket(one.address(3), 9)) {
                assertThat(socket.isConnected()).isTrue();
                assertThat(listening.isBound()).isTrue();
                assertThatThrownBy(() -> new Socket(other.address(3), 9)).hasMessageContaining("refused");
            }
        }
    }
}

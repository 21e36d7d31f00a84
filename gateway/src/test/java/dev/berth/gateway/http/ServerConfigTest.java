package dev.berth.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ServerConfigTest {
    private static final ServerConfig USUAL = ServerConfig.onLoopback(0);

    @Test
    void connectionsOfE2bsClientsAreKeptForAsLongAsTheyUseThemAgain() {
        assertThat(USUAL.idle()).isEqualTo(Duration.ofSeconds(60));
        assertThat(USUAL.forE2b().idle()).isEqualTo(Duration.ofSeconds(620));
        assertThat(USUAL.forE2b().idleOfSockets()).isEqualTo(Duration.ofSeconds(60));
    }

    @Test
    void whatAnOperatorSaidStays() {
        ServerConfig said = USUAL.withIdle(Duration.ofSeconds(5), Duration.ofSeconds(1));
        assertThat(said.forE2b()).isEqualTo(said);
        assertThat(said.idleOfSockets()).isEqualTo(Duration.ofSeconds(5));
    }
}

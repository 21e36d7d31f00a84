package dev.berth.gateway.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PlaceTest {
    private static Optional<Place> named(String host) {
        return Place.of(host, Optional.empty(), Optional.empty());
    }

    private static Optional<Place> told(String host, String id, String port) {
        return Place.of(host, Optional.of(id), Optional.of(port));
    }

    @Test
    void aNameTellsThePortAndTheSandbox() {
        assertThat(named("8080-iabc123.sbx.localhost")).hasValue(new Place("iabc123", 8080));
        assertThat(named("49983-IABC123.Sbx.Localhost")).hasValue(new Place("iabc123", 49983));
        assertThat(named("1-iabc-6532622b.e2b.app")).hasValue(new Place("iabc", 1));
    }

    @Test
    void aNameThatIsNoneTellsNothing() {
        for (String host : List.of(
                "",
                "localhost",
                "sbx.localhost",
                "api.sbx.localhost",
                "0-iabc.sbx.localhost",
                "65536-iabc.sbx.localhost",
                "999999-iabc.sbx.localhost",
                "-1-iabc.sbx.localhost",
                "8080-.sbx.localhost",
                "8080-iabc",
                "8080-iabc.",
                "8080-ia_bc.sbx.localhost",
                "8080-ia%62c.sbx.localhost",
                "8080-../x.sbx.localhost",
                "8080-iabc-a-b.sbx.localhost",
                "x8080-iabc.sbx.localhost",
                "a.8080-iabc.sbx.localhost",
                "８０８０-iabc.sbx.localhost",
                "8080-iabc\n.sbx.localhost",
                "8080–iabc.sbx.localhost")) {
            assertThat(named(host)).as(host).isEmpty();
        }
    }

    @Test
    void headersCountOnHostsThatAreNobodysInParticular() {
        for (String host : List.of("localhost", "127.0.0.1", "10.1.2.3", "[::1]", "sandbox.sbx.localhost")) {
            assertThat(told(host, "iabc", "3000")).as(host).hasValue(new Place("iabc", 3000));
        }
        assertThat(Place.of("localhost", Optional.of("iabc"), Optional.empty()))
                .hasValue(new Place("iabc", Place.ENVD));
        for (String host : List.of(
                "api.sbx.localhost",
                "sbx.localhost",
                "example.com",
                "localhost.example.com",
                "notsandbox.example.com",
                "127.0.0.1.example.com",
                "sandbox")) {
            assertThat(told(host, "iabc", "3000")).as(host).isEmpty();
        }
    }

    @Test
    void whatAHeaderSaysOnTheNameOfASandboxIsNotHeard() {
        assertThat(told("8080-imine.sbx.localhost", "iother", "3000")).hasValue(new Place("imine", 8080));
        assertThat(told("99999-imine.sbx.localhost", "iother", "3000")).isEmpty();
    }

    @Test
    void headersThatMakeNoSenseTellNothing() {
        for (String id : List.of("", "../x", "I", "a b", "i\r\nx", "x".repeat(65), "-a")) {
            assertThat(told("localhost", id, "3000")).as(id).isEmpty();
        }
        for (String port : List.of("", "0", "65536", "-1", "3000 ", "+3000", "0x10", "three")) {
            assertThat(told("localhost", "iabc", port)).as(port).isEmpty();
        }
    }
}

package dev.berth.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.egress.internet.Internet;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;

/** Needs root, for the network namespace. */
class DnsNamesTest {

    @Test
    void namesAreAskedOfTheServerEachTime() throws Exception {
        try (Internet internet = Internet.start()) {
            DnsNames names = new DnsNames(internet.names().address());
            internet.names().name("a.example", internet.address(1), internet.address(2), internet.address6(3));
            assertThat(names.resolve("a.example"))
                    .containsExactly(internet.address(1), internet.address(2), internet.address6(3));
            internet.names().name("a.example", internet.address6(4));
            assertThat(names.resolve("a.example")).containsExactly(internet.address6(4));
            assertThat(internet.names().asked()).hasSize(4).containsOnly("a.example");
        }
    }

    @Test
    void aNameWithoutAddressesIsUnknown() throws Exception {
        try (Internet internet = Internet.start()) {
            DnsNames names = new DnsNames(internet.names().address());
            internet.names().name("empty.example");
            assertThatThrownBy(() -> names.resolve("empty.example")).isInstanceOf(UnknownHostException.class);
            assertThatThrownBy(() -> names.resolve("nowhere.example")).isInstanceOf(UnknownHostException.class);
        }
    }
}

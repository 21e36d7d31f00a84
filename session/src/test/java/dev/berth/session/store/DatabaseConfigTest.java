package dev.berth.session.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DatabaseConfigTest {
    @Test
    void readsWhatHostersGive() {
        DatabaseConfig config =
                DatabaseConfig.parse("postgres://ann:p%40ss+w%2Ford@db.example:6432/berth?sslmode=require");
        assertThat(config.jdbcUrl()).isEqualTo("jdbc:postgresql://db.example:6432/berth?sslmode=require");
        assertThat(config.user()).contains("ann");
        assertThat(config.password()).contains("p@ss+w/ord");
    }

    @Test
    void readsTheOtherSpellings() {
        assertThat(DatabaseConfig.parse("postgresql://h/d").jdbcUrl()).isEqualTo("jdbc:postgresql://h/d");
        assertThat(DatabaseConfig.parse("jdbc:postgresql://h/d?user=u").jdbcUrl())
                .isEqualTo("jdbc:postgresql://h/d?user=u");
        assertThat(DatabaseConfig.parse("postgres://h").jdbcUrl()).isEqualTo("jdbc:postgresql://h/");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "mysql://u:topsecret@h/d", "postgres:/h", "postgres://u:topsecret@ h/d", "h:5432"})
    void refusesOthersWithoutTellingThePassword(String url) {
        assertThatThrownBy(() -> DatabaseConfig.parse(url))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("postgres://user:password@host")
                .hasNoCause()
                .hasMessageNotContaining("topsecret");
    }

    @Test
    void isWrittenWithoutThePassword() {
        assertThat(DatabaseConfig.parse("postgres://ann:topsecret@h/d?password=topsecret")
                        .toString())
                .isEqualTo("jdbc:postgresql://h/d");
    }
}

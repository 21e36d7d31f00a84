package dev.berth.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "[]",
                "null",
                "true",
                "[false,null,\"\",0]",
                "-0.5",
                "1E+10",
                "9007199254740993",
                "{\"a\":{\"b\":[1,{\"c\":\"d\"}]}}",
                "\"\\u0000\\u001f\\\"\\\\\"",
                "\"ä€😀\"",
                "\"\\ud83d\""
            })
    void whatIsWrittenIsWhatWasRead(String text) {
        assertThat(Json.parse(text).toString()).isEqualTo(text);
        assertThat(Json.parse(Json.parse(text).pretty())).isEqualTo(Json.parse(text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "{",
                "[1,]",
                "{\"a\":1,}",
                "{\"a\":1,\"a\":2}",
                "{a:1}",
                "{'a':1}",
                "[1 2]",
                "01",
                "-",
                "+1",
                "1.",
                ".5",
                "1e",
                "1e99999",
                "NaN",
                "Infinity",
                "nul",
                "truefalse",
                "\"",
                "\"\\x\"",
                "\"\\u12g4\"",
                "\"\\u١٢٣٤\"",
                "\"\n\"",
                "\"\t\"",
                "[]]",
                "/* */ 1",
                "1 // one",
                "\uFEFF1",
                "\u00A01"
            })
    void whatIsNotJsonIsRefused(String text) {
        assertThatThrownBy(() -> Json.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("this is not JSON");
    }

    @Test
    void depthAndLengthThatWouldHurtAreRefused() {
        assertThat(Json.parse("[".repeat(200) + "]".repeat(200))).isNotNull();
        assertThatThrownBy(() -> Json.parse("[".repeat(1_000_000))).hasMessageContaining("levels");
        assertThatThrownBy(() -> Json.parse("{\"a\":".repeat(1_000_000))).hasMessageContaining("levels");
        assertThatThrownBy(() -> Json.parse("1".repeat(1_000_000))).hasMessageContaining("characters");
    }

    @Test
    void everyPrefixOfATextIsRefusedAndNothingElseHappens() {
        String text = "{\"a\": [1.5e3, \"x\\u0041\\n\", true, null], \"b\": {\"c\": -2}}";
        for (int i = 0; i < text.length(); i++) {
            String prefix = text.substring(0, i);
            assertThatThrownBy(() -> Json.parse(prefix)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void whatIsNotThereIsEmpty() {
        Json json = Json.parse("{\"a\": 1, \"n\": null, \"when\": \"2026-01-02T03:04:05Z\", \"never\": \"soon\"}");
        assertThat(json.get("b").get("c").text()).isEmpty();
        assertThat(json.get("n").exists()).isFalse();
        assertThat(json.get("a").text()).isEmpty();
        assertThat(json.get("a").items()).isEmpty();
        assertThat(json.get("when").time()).contains(Instant.parse("2026-01-02T03:04:05Z"));
        assertThat(json.get("never").time()).isEmpty();
    }

    @Test
    void numbersAreAsExactAsTheyCanBe() {
        assertThat(Json.parse("9007199254740993").whole()).isEqualTo(9007199254740993L);
        assertThat(Json.parse("1e3000").whole()).isEqualTo(Long.MAX_VALUE);
        assertThat(Json.parse("-1e3000").whole()).isEqualTo(Long.MIN_VALUE);
        assertThat(Json.parse("1e-3000").whole()).isZero();
        assertThat(Json.parse("3.9").whole()).isEqualTo(3);
        assertThat(Json.parse("1e300").optionalInt()).contains(Integer.MAX_VALUE);
    }

    @Test
    void valuesOfJavaBecomeJson() {
        assertThat(Json.of(Arrays.asList(1, 2.5, "x", true, null, Optional.empty(), Map.of("k", List.of())))
                        .toString())
                .isEqualTo("[1,2.5,\"x\",true,null,null,{\"k\":[]}]");
        assertThat(Json.object()
                        .with("a", 1)
                        .with("b", Optional.empty())
                        .with("a", "2")
                        .toString())
                .isEqualTo("{\"a\":\"2\"}");
        assertThatThrownBy(() -> Json.of(new Object())).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void whatATerminalActsOnIsEscaped() {
        assertThat(Json.of("\u001b[2J\u009b2J\u007f").toString()).isEqualTo("\"\\u001b[2J\\u009b2J\\u007f\"");
    }
}

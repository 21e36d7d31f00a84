package dev.berth.channel.slack;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class CutTest {
    private final Cut cut = new Cut(100);

    @Test
    void aShortTextIsOneMessage() {
        assertThat(cut.apply("hello")).containsExactly("hello");
        assertThat(cut.apply(" \n ")).isEmpty();
    }

    @Test
    void aLongTextIsCutAtBlankLines() {
        String first = "a".repeat(40) + "\n" + "b".repeat(20);
        String second = "c".repeat(60);
        assertThat(cut.apply(first + "\n\n" + second)).containsExactly(first, second);
    }

    @Test
    void aCodeBlockThatIsTooLongIsOpenedAgain() {
        String code = "line of code\n".repeat(20);
        List<String> parts = cut.apply("```java\n" + code + "```");
        assertThat(parts).hasSizeGreaterThan(2).allSatisfy(part -> {
            assertThat(part).startsWith("```java\n").endsWith("```");
            assertThat(part.length()).isLessThanOrEqualTo(100);
        });
        assertThat(String.join("", parts)
                        .replace("```java", "")
                        .replace("```", "")
                        .replace("\n", ""))
                .isEqualTo(code.replace("\n", ""));
    }

    @Test
    void aMarkAsLongAsAMessageEndsToo() {
        for (int length = 1; length < 250; length++) {
            String text = "```" + "x".repeat(length) + "\n" + "y".repeat(300);
            assertThat(cut.apply(text))
                    .allSatisfy(part -> assertThat(part.length()).isLessThanOrEqualTo(100));
            assertThat(cut.apply("`".repeat(length) + "\n" + "y\n".repeat(300))).isNotEmpty();
        }
    }

    @Test
    void aBlankLineInACodeBlockIsNoPlaceToCut() {
        String text = "intro text that is long enough to count as a part\n\n```\none\n\ntwo\n\nthree\n" + "x".repeat(50)
                + "\n```";
        assertThat(cut.apply(text).getFirst()).isEqualTo("intro text that is long enough to count as a part");
    }

    @Test
    void whatGrowsWhenItIsEscapedCountsAsThat() {
        assertThat(cut.apply("<".repeat(100)))
                .allSatisfy(part -> assertThat(Mrkdwn.escape(part).length()).isLessThanOrEqualTo(100));
    }

    @Test
    void charactersOfTwoHalvesStayWhole() {
        assertThat(cut.apply("😀".repeat(120)))
                .allSatisfy(part -> assertThat(part.codePoints().allMatch(c -> c == 0x1F600))
                        .isTrue());
    }

    @Test
    void aTextThatGrowsKeepsItsCutsAndItsLimit() {
        Random random = new Random(7);
        String[] pieces = {
            "word ", "\n", "\n\n", "```\n", "a < b & c ", "longer piece of text without end ", "```py\nx = 1\n"
        };
        StringBuilder text = new StringBuilder("begin ");
        List<String> before = List.of();
        for (int i = 0; i < 600; i++) {
            text.append(pieces[random.nextInt(pieces.length)]);
            List<String> parts = cut.apply(text.toString());
            int whole = Math.max(0, before.size() - 1);
            assertThat(parts.size()).isGreaterThanOrEqualTo(before.size());
            assertThat(parts.subList(0, whole)).isEqualTo(before.subList(0, whole));
            assertThat(parts)
                    .allSatisfy(part -> assertThat(Mrkdwn.escape(part).length()).isLessThanOrEqualTo(100));
            before = parts;
        }
    }
}

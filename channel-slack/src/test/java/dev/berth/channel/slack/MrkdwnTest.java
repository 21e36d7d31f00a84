package dev.berth.channel.slack;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class MrkdwnTest {
    @Test
    void markdownIsWrittenInTheWayOfSlack() {
        assertThat(Mrkdwn.of("# Title\n\n**bold**, *italic*, ~~gone~~ and `a*b`"))
                .isEqualTo("*Title*\n\n*bold*, _italic_, ~gone~ and `a*b`");
        assertThat(Mrkdwn.of("- one\n  * two\n- [x] done\n- [ ] open\n1. first"))
                .isEqualTo("• one\n  • two\n☑ done\n☐ open\n1. first");
        assertThat(Mrkdwn.of("see [the docs](https://example.com/a?b=1&c=2)"))
                .isEqualTo("see <https://example.com/a?b=1&amp;c=2|the docs>");
        assertThat(Mrkdwn.of("> quoted **text**")).isEqualTo("> quoted *text*");
        assertThat(Mrkdwn.of("2 * 3 * 4 and snake_case_name")).isEqualTo("2 * 3 * 4 and snake_case_name");
    }

    @Test
    void codeStaysAsItIs() {
        assertThat(Mrkdwn.of("```java\nif (a < b && c > d) { **x** }\n```\n**y**"))
                .isEqualTo("```\nif (a &lt; b &amp;&amp; c &gt; d) { **x** }\n```\n*y*");
    }

    @Test
    void aCodeBlockEndsWhereMarkdownEndsIt() {
        assertThat(Mrkdwn.of("````\n```\n**a**\n```\n````\n**b**"))
                .isEqualTo("```\n`\u200b`\u200b`\n**a**\n`\u200b`\u200b`\n```\n*b*");
        assertThat(Mrkdwn.of("```code``` and **bold**")).isEqualTo("`code` and *bold*");
        assertThat(Mrkdwn.of("~~~\n**a**\n~~~")).isEqualTo("```\n**a**\n```");
    }

    @Test
    void aCodeBlockThatIsStillBeingWrittenIsClosed() {
        assertThat(Mrkdwn.of("```\nhalf")).isEqualTo("```\nhalf\n```");
    }

    @Test
    void aTableHasLettersOfOneWidth() {
        assertThat(Mrkdwn.of("a\n| x | y |\n|---|---|\n| 1 | 2 |\nb"))
                .isEqualTo("a\n```\n| x | y |\n|---|---|\n| 1 | 2 |\n```\nb");
    }

    @Test
    void nobodyIsMentionedWhateverATextSays() {
        for (String text : new String[] {
            "<!channel> <!here> <@U1> <!subteam^S1>",
            "[x](!channel)",
            "[x](@U1)",
            "[a](<!here>)",
            "![x](!everyone|y)",
            "`<!channel>`",
            "```\n<!channel>\n```",
            "**<!channel>**",
            "\\<!channel\\>",
            "[<!channel>](https://a.b)",
            "[x](https://a.b|<!channel>)",
            "| <!channel> |"
        }) {
            assertThat(Mrkdwn.of(text)).as(text).doesNotContain("<!").doesNotContain("<@");
            assertThat(Mrkdwn.plain(text)).as(text).doesNotContain("<");
        }
    }

    @Test
    void linksGoToTheWebAndToMailOnly() {
        assertThat(Mrkdwn.of("[x](javascript:alert(1))")).isEqualTo("x (javascript:alert(1))");
        assertThat(Mrkdwn.of("<https://a.b/c>")).isEqualTo("<https://a.b/c>");
        assertThat(Mrkdwn.of("[mail](mailto:a@b.c)")).isEqualTo("<mailto:a@b.c|mail>");
    }
}

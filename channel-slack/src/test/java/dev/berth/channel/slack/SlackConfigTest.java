package dev.berth.channel.slack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class SlackConfigTest {
    @Test
    void secretsAreNotInItsText() {
        SlackConfig.OAuth oauth =
                new SlackConfig.OAuth("id", "client-secret", URI.create("https://a.b/callback"), Set.of());
        SlackConfig socket = SlackConfig.socket("xapp-secret", Optional.of("xoxb-secret"), Optional.of(oauth));
        assertThat(socket + " " + oauth + " "
                        + SlackConfig.http("signing-secret", Optional.of("xoxb-secret"), Optional.empty()))
                .doesNotContain("secret");
        assertThat(new Workspace("T1", "U1", "xoxb-secret").toString()).doesNotContain("secret");
    }

    @Test
    void whatIsMissingIsSaid() {
        assertThatThrownBy(() -> SlackConfig.socket("xoxb-1", Optional.of("xoxb-1"), Optional.empty()))
                .hasMessageContaining("xapp-")
                .hasMessageNotContaining("xoxb-1");
        assertThatThrownBy(() -> SlackConfig.socket("xapp-1", Optional.empty(), Optional.empty()))
                .hasMessageContaining("bot token");
        assertThatThrownBy(() -> SlackConfig.http(" ", Optional.of("xoxb-1"), Optional.empty()))
                .hasMessageContaining("signing secret");
    }
}

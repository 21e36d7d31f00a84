package dev.berth.gateway.channel;

import dev.berth.channel.Desk;
import dev.berth.channel.Inbox;
import dev.berth.gateway.approval.Approvals;
import dev.berth.gateway.approval.Approvals.Decision;
import dev.berth.session.SessionKey;
import java.util.Optional;

/** The approvals, for people in channels. */
public record ApprovalDesk(Approvals approvals) implements Desk {
    @Override
    public Optional<String> requester(SessionKey session, String approval) {
        return approvals.requester(session, approval);
    }

    @Override
    public void decide(SessionKey session, String approval, String person, Inbox.Answer answer) {
        approvals.decide(
                session,
                approval,
                person,
                switch (answer) {
                    case ONCE -> Decision.APPROVE;
                    case ALWAYS -> Decision.ALWAYS;
                    case DENY -> Decision.DENY;
                });
    }
}

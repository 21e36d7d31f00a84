-- Conversations in channels. Each is one session, for ever.
CREATE TABLE channel_places (
    number          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel         text NOT NULL,
    workspace       text NOT NULL,
    room            text NOT NULL,
    thread          text NOT NULL,
    tenant          text NOT NULL,
    session         text NOT NULL,
    title           text NOT NULL,
    created_by      text NOT NULL,
    -- Up to which event of the session it was looked for what has to be told there.
    told_seq        bigint NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_activity   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (channel, workspace, room, thread)
);
CREATE INDEX channel_places_by_session ON channel_places (tenant, session);

-- What people wrote. A row stays after the message was said, so that it is known when it comes again; its text does not.
CREATE TABLE channel_messages (
    channel         text NOT NULL,
    workspace       text NOT NULL,
    id              text NOT NULL,
    number          bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    place           bigint NOT NULL REFERENCES channel_places (number) ON DELETE CASCADE,
    person_id       text NOT NULL,
    person_name     text NOT NULL,
    text            text NOT NULL,
    reply           text NOT NULL,
    attachments     jsonb NOT NULL,
    state           text NOT NULL DEFAULT 'received' CHECK (state IN ('received', 'saying', 'said', 'failed')),
    -- The last event of the session before it was said: what came of it is after that.
    saying_seq      bigint NOT NULL DEFAULT 0,
    -- The server that has its attachments; another one goes on without them when that one is gone.
    owner           text NOT NULL,
    lease_until     timestamptz NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel, workspace, id)
);
CREATE INDEX channel_messages_waiting ON channel_messages (place, number) WHERE state IN ('received', 'saying');
CREATE INDEX channel_messages_by_person ON channel_messages (place, person_id);
CREATE INDEX channel_messages_by_time ON channel_messages (created_at);

-- Runs that are shown in a place, and messages that nothing came of, whose failure is shown there.
CREATE TABLE channel_deliveries (
    run             text PRIMARY KEY,
    place           bigint NOT NULL REFERENCES channel_places (number) ON DELETE CASCADE,
    reply           text NOT NULL,
    requester_id    text NOT NULL,
    requester_name  text NOT NULL,
    -- What the channel wants to know the next time.
    memo            text NOT NULL DEFAULT '',
    first_seq       bigint NOT NULL,
    failure         text,
    state           text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'given_up')),
    owner           text,
    lease_until     timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz
);
CREATE INDEX channel_deliveries_open ON channel_deliveries (place) WHERE state = 'open';
CREATE INDEX channel_deliveries_by_time ON channel_deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- What has to be told in a place and belongs to no run that is shown. Gone once it was told.
CREATE TABLE channel_notices (
    number          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    place           bigint NOT NULL REFERENCES channel_places (number) ON DELETE CASCADE,
    text            text NOT NULL,
    files           jsonb NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    owner           text,
    lease_until     timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now()
);

-- Signed requests that were acted on, for as long as their signature is good.
CREATE TABLE channel_requests (
    channel         text NOT NULL,
    workspace       text NOT NULL,
    id              text NOT NULL,
    at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel, workspace, id)
);

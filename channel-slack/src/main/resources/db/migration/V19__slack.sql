-- Workspaces that have installed the Slack app by OAuth. Tokens are sealed with a key that is not in the database.
CREATE TABLE slack_installations (
    team          text PRIMARY KEY,
    team_name     text NOT NULL,
    bot_user      text NOT NULL,
    token_sealed  bytea NOT NULL,
    scopes        text NOT NULL,
    installed_by  text NOT NULL,
    installed_at  timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now()
);

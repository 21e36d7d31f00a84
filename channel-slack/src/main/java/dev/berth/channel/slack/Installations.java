package dev.berth.channel.slack;

import dev.berth.session.store.Database;
import java.util.Optional;

/** Workspaces that have installed the app, in PostgreSQL. */
public final class Installations {
    private final Database database;
    private final Seal seal;

    public Installations(Database database, Seal seal) {
        this.database = database;
        this.seal = seal;
    }

    /** What the token of a workspace is sealed for. */
    public static String place(String team) {
        return "slack_installations/" + team;
    }

    void save(Workspace workspace, String name, String scopes, String person) {
        database.query(handle -> handle.createUpdate("""
                        INSERT INTO slack_installations (team, team_name, bot_user, token_sealed, scopes, installed_by)
                        VALUES (:team, :name, :bot, :token, :scopes, :person)
                        ON CONFLICT (team) DO UPDATE SET team_name = :name, bot_user = :bot, token_sealed = :token,
                            scopes = :scopes, installed_by = :person, updated_at = now()""")
                .bind("team", workspace.team())
                .bind("name", name)
                .bind("bot", workspace.botUser())
                .bind("token", seal.seal(place(workspace.team()), workspace.token()))
                .bind("scopes", scopes)
                .bind("person", person)
                .execute());
    }

    Optional<Workspace> find(String team) {
        return database.query(handle -> handle.createQuery(
                        "SELECT bot_user, token_sealed FROM slack_installations WHERE team = :team")
                .bind("team", team)
                .map((row, _) -> new Workspace(
                        team, row.getString("bot_user"), seal.open(place(team), row.getBytes("token_sealed"))))
                .findOne());
    }

    void remove(String team) {
        database.query(handle -> handle.createUpdate("DELETE FROM slack_installations WHERE team = :team")
                .bind("team", team)
                .execute());
    }
}

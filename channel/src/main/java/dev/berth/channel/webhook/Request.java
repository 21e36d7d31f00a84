package dev.berth.channel.webhook;

import dev.berth.channel.Inbox;
import dev.berth.channel.Incoming;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a chat system asks for.
 *
 * @param id by which it is known when it comes again
 */
record Request(Kind kind, String id, String conversation, Person person, JsonNode body) {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int ID = 200;
    private static final int CONVERSATION = 500;
    private static final int FILES = 50;

    enum Kind {
        MESSAGE,
        DECISION,
        STOP,
        COMMAND
    }

    /** It cannot be understood; the message says what is wrong with it. */
    static final class Unclear extends Exception {
        Unclear(String message) {
            super(message);
        }
    }

    static Request parse(byte[] bytes) throws Unclear {
        JsonNode body;
        try {
            body = JSON.readTree(bytes);
        } catch (JacksonException e) {
            throw new Unclear("the body has to be JSON");
        }
        if (!body.isObject()) {
            throw new Unclear("the body has to be a JSON object");
        }
        String id = text(body, "id", ID);
        String conversation = text(body, "conversation", CONVERSATION);
        JsonNode who = body.path("person");
        String personId = text(who, "id", ID);
        String name = who.path("name").isString() ? who.path("name").asString() : personId;
        return new Request(kind(body), id, conversation, new Person(personId, name), body);
    }

    private static Kind kind(JsonNode body) throws Unclear {
        JsonNode type = body.path("type");
        if (type.isMissingNode()) {
            return Kind.MESSAGE;
        }
        return switch (type.isString() ? type.asString() : "") {
            case "message" -> Kind.MESSAGE;
            case "decision" -> Kind.DECISION;
            case "stop" -> Kind.STOP;
            case "command" -> Kind.COMMAND;
            default -> throw new Unclear("type has to be message, decision, stop or command");
        };
    }

    private static String text(JsonNode node, String name, int most) throws Unclear {
        JsonNode value = node.path(name);
        if (!value.isString()
                || value.asString().isBlank()
                || value.asString().length() > most
                || value.asString().indexOf('\0') >= 0) {
            throw new Unclear(name + " has to be a text of 1 to " + most + " characters");
        }
        return value.asString();
    }

    String text() {
        return body.path("text").isString() ? body.path("text").asString() : "";
    }

    String approval() throws Unclear {
        return text(body, "approval", ID);
    }

    Inbox.Answer answer() throws Unclear {
        return switch (text(body, "answer", ID).toLowerCase(Locale.ROOT)) {
            case "once" -> Inbox.Answer.ONCE;
            case "always" -> Inbox.Answer.ALWAYS;
            case "deny" -> Inbox.Answer.DENY;
            default -> throw new Unclear("answer has to be once, always or deny");
        };
    }

    Incoming message(Place place, boolean privateAddresses) throws Unclear {
        JsonNode given = body.path("attachments");
        if (given.size() > FILES) {
            throw new Unclear("a message can have " + FILES + " attachments");
        }
        List<Incoming.Attachment> files = new ArrayList<>();
        for (JsonNode file : given) {
            files.add(new Download(
                    text(file, "name", CONVERSATION),
                    file.path("size").isNumber() ? file.path("size").asLong() : 0,
                    text(file, "url", 4000),
                    privateAddresses));
        }
        if (text().isBlank() && files.isEmpty()) {
            throw new Unclear("a message has to have a text or an attachment");
        }
        return new Incoming(place, person, id, text(), files, id);
    }
}

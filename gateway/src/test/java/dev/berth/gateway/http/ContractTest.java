package dev.berth.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

class ContractTest {
    /** Of JSON Schema and OpenAPI, what the document uses. Anything else is a slip, such as a comma in a text. */
    private static final Set<String> KEYWORDS = Set.of(
            "type",
            "description",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "pattern",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "minItems",
            "maxItems",
            "uniqueItems",
            "minProperties",
            "maxProperties",
            "propertyNames",
            "format",
            "oneOf",
            "$ref");

    private final Contract contract = Contract.load();

    @Test
    void everyOperationHasItsOwnNameAndSaysWhoMayUseIt() {
        assertThat(contract.operations())
                .extracting(Contract.Operation::id)
                .doesNotHaveDuplicates()
                .doesNotContain("");
        assertThat(contract.operations())
                .allMatch(operation -> operation.open()
                        || operation.admin()
                        || operation.scope().isPresent());
    }

    @Test
    void schemasHaveKnownKeywordsOnly() {
        contract.document()
                .path("components")
                .path("schemas")
                .properties()
                .forEach(schema -> check(schema.getKey(), schema.getValue()));
        contract.document().findValues("schema").forEach(schema -> check("a schema", schema));
    }

    @Test
    void answersAreSaidToTheLastField() {
        for (Contract.Operation operation : contract.operations()) {
            contract.complete(contract.document()
                            .path("paths")
                            .path(operation.path())
                            .path(operation.method().toLowerCase(java.util.Locale.ROOT))
                            .path("responses"))
                    .findParents("properties")
                    .forEach(schema -> assertThat(
                                    schema.path("additionalProperties").asBoolean(true))
                            .as(operation.id() + ": " + schema)
                            .isFalse());
        }
    }

    private static void check(String where, JsonNode schema) {
        if (!(schema instanceof ObjectNode object)) {
            return;
        }
        Set<String> keys =
                object.properties().stream().map(field -> field.getKey()).collect(Collectors.toSet());
        assertThat(KEYWORDS).as(where + ": " + schema).containsAll(keys);
        object.path("properties").properties().forEach(field -> check(where + "." + field.getKey(), field.getValue()));
        check(where + "[]", object.path("items"));
        object.path("oneOf").forEach(one -> check(where + "|", one));
        check(where + ".*", object.path("additionalProperties"));
    }
}

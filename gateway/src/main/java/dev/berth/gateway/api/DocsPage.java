package dev.berth.gateway.api;

import java.util.Locale;
import tools.jackson.databind.JsonNode;

/** The contract as a page that people can read, without anything from elsewhere. */
final class DocsPage {
    private static final String HEAD = """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Berth API</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <style>
            body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
            h2{margin-top:3rem;border-bottom:1px solid #d0d7de}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f6f8fa}
            code{padding:.1em .3em;border-radius:4px}pre{padding:1rem;overflow:auto;border-radius:6px}
            .m{display:inline-block;min-width:4.5rem;font-weight:600}summary{cursor:pointer}
            table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}
            @media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}code,pre{background:#161b22}h2{border-color:#30363d}}
            </style>
            """;

    private DocsPage() {}

    static String of(JsonNode document) {
        StringBuilder page = new StringBuilder(HEAD);
        page.append("<h1>")
                .append(text(document.path("info").path("title")))
                .append(" API</h1><p>")
                .append(text(document.path("info").path("description")))
                .append("</p><p>Send a key as <code>Authorization: Bearer …</code> or <code>X-API-Key: …</code>."
                        + " Failures are RFC 9457 problems with a stable <code>code</code>."
                        + " The whole contract, for programs: <a href=\"/openapi.json\">/openapi.json</a>.</p>");
        for (JsonNode tag : document.path("tags")) {
            page.append("<h2>")
                    .append(text(tag.path("name")))
                    .append("</h2><p>")
                    .append(text(tag.path("description")))
                    .append("</p>");
            document.path("paths")
                    .properties()
                    .forEach(path -> path.getValue().properties().forEach(method -> {
                        JsonNode operation = method.getValue();
                        if (operation
                                .path("tags")
                                .path(0)
                                .asString("")
                                .equals(tag.path("name").asString(""))) {
                            operation(page, document, path.getKey(), method.getKey(), operation);
                        }
                    }));
        }
        return page.append("</html>").toString();
    }

    private static void operation(
            StringBuilder page, JsonNode document, String path, String method, JsonNode operation) {
        page.append("<details><summary><span class=m>")
                .append(method.toUpperCase(Locale.ROOT))
                .append("</span><code>")
                .append(escape(path))
                .append("</code> ")
                .append(text(operation.path("summary")))
                .append("</summary>");
        if (operation.has("description")) {
            page.append("<p>").append(text(operation.path("description"))).append("</p>");
        }
        JsonNode body = operation.path("requestBody");
        if (body.has("$ref")) {
            body = document.at(body.path("$ref").asString().substring(1));
        }
        JsonNode schema = body.path("content").path("application/json").path("schema");
        if (schema.has("$ref")) {
            schema = document.at(schema.path("$ref").asString().substring(1));
        }
        if (schema.has("properties")) {
            fields(page, schema);
        }
        page.append("</details>");
    }

    private static void fields(StringBuilder page, JsonNode schema) {
        page.append("<table><tr><th>field</th><th>type</th><th></th></tr>");
        schema.path("properties").properties().forEach(field -> {
            boolean required = false;
            for (JsonNode name : schema.path("required")) {
                required |= name.asString("").equals(field.getKey());
            }
            JsonNode of = field.getValue();
            page.append("<tr><td><code>")
                    .append(escape(field.getKey()))
                    .append("</code>")
                    .append(required ? " *" : "")
                    .append("</td><td>")
                    .append(escape(
                            of.has("enum")
                                    ? of.path("enum").toString()
                                    : of.path("type").asString("")))
                    .append("</td><td>")
                    .append(text(of.path("description")))
                    .append("</td></tr>");
        });
        page.append("</table>");
    }

    private static String text(JsonNode node) {
        return escape(node.asString(""));
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}

package dev.berth.tool;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Tells the media type of a file: by its first bytes where those are unmistakable, else by its name. */
public final class MimeTypes {
    private static final String BINARY = "application/octet-stream";
    private static final String TEXT = "text/plain";

    private static final Map<String, String> BY_EXTENSION = Map.<String, String>ofEntries(
            Map.entry("bmp", "image/bmp"),
            Map.entry("c", "text/x-c"),
            Map.entry("css", "text/css"),
            Map.entry("csv", "text/csv"),
            Map.entry("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            Map.entry("gif", "image/gif"),
            Map.entry("gz", "application/gzip"),
            Map.entry("htm", "text/html"),
            Map.entry("html", "text/html"),
            Map.entry("ico", "image/x-icon"),
            Map.entry("ipynb", "application/x-ipynb+json"),
            Map.entry("java", "text/x-java"),
            Map.entry("jpeg", "image/jpeg"),
            Map.entry("jpg", "image/jpeg"),
            Map.entry("js", "text/javascript"),
            Map.entry("json", "application/json"),
            Map.entry("jsonl", "application/jsonl"),
            Map.entry("md", "text/markdown"),
            Map.entry("mjs", "text/javascript"),
            Map.entry("mp3", "audio/mpeg"),
            Map.entry("mp4", "video/mp4"),
            Map.entry("ogg", "audio/ogg"),
            Map.entry("parquet", "application/vnd.apache.parquet"),
            Map.entry("pdf", "application/pdf"),
            Map.entry("png", "image/png"),
            Map.entry("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
            Map.entry("py", "text/x-python"),
            Map.entry("sh", "text/x-shellscript"),
            Map.entry("svg", "image/svg+xml"),
            Map.entry("tar", "application/x-tar"),
            Map.entry("tiff", "image/tiff"),
            Map.entry("ts", "text/typescript"),
            Map.entry("tsv", "text/tab-separated-values"),
            Map.entry("txt", TEXT),
            Map.entry("wasm", "application/wasm"),
            Map.entry("wav", "audio/wav"),
            Map.entry("webm", "video/webm"),
            Map.entry("webp", "image/webp"),
            Map.entry("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
            Map.entry("xml", "application/xml"),
            Map.entry("yaml", "application/yaml"),
            Map.entry("yml", "application/yaml"),
            Map.entry("zip", "application/zip"));

    private static final List<Magic> MAGICS = List.of(
            Magic.of("image/png", 0, "\u0089PNG\r\n\u001a\n"),
            Magic.of("image/jpeg", 0, "\u00ff\u00d8\u00ff"),
            Magic.of("image/gif", 0, "GIF8"),
            Magic.of("image/webp", 8, "WEBP"),
            Magic.of("image/bmp", 0, "BM"),
            Magic.of("application/pdf", 0, "%PDF-"),
            Magic.of("application/gzip", 0, "\u001f\u008b"),
            Magic.of("application/zip", 0, "PK\u0003\u0004"),
            Magic.of("application/x-tar", 257, "ustar"),
            Magic.of("application/wasm", 0, "\0asm"),
            Magic.of("application/x-elf", 0, "\u007fELF"),
            Magic.of("application/vnd.sqlite3", 0, "SQLite format 3\0"));

    private MimeTypes() {}

    /** Bytes that a type has at a place. */
    private record Magic(String type, int offset, byte[] bytes) {
        static Magic of(String type, int offset, String bytes) {
            return new Magic(type, offset, bytes.getBytes(StandardCharsets.ISO_8859_1));
        }

        boolean matches(byte[] content) {
            int end = offset + bytes.length;
            return content.length >= end && Arrays.equals(content, offset, end, bytes, 0, bytes.length);
        }
    }

    /** @param content of the file, or as much of its beginning as there is at hand */
    public static String of(String path, byte[] content) {
        String name = path.substring(path.lastIndexOf('/') + 1).toLowerCase(Locale.ROOT);
        String byName = BY_EXTENSION.getOrDefault(name.substring(name.lastIndexOf('.') + 1), "");
        String byContent = MAGICS.stream()
                .filter(magic -> magic.matches(content))
                .findFirst()
                .map(Magic::type)
                .orElse("");
        if (byContent.isEmpty() || (byContent.equals("application/zip") && byName.startsWith("application/"))) {
            return byName.isEmpty() ? unnamed(content) : byName;
        }
        return byContent;
    }

    private static String unnamed(byte[] content) {
        return Texts.kind(Arrays.copyOf(content, Math.min(content.length, Texts.HEAD))) == Texts.Kind.BINARY
                ? BINARY
                : TEXT;
    }
}

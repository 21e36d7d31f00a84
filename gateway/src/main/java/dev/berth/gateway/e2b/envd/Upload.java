package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.http.FormReader;
import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** {@code POST /files}: files in a form, or one as it is, written as they come. */
final class Upload {
    private static final String PART = "file";

    private final Visit visit;
    private final Account account;
    private final Map<String, String> metadata;
    /** By path, in the order in which they came. */
    private final Map<String, Map<String, Object>> written = new LinkedHashMap<>();

    private Upload(Visit visit, Account account, Map<String, String> metadata) {
        this.visit = visit;
        this.account = account;
        this.metadata = metadata;
    }

    static void answer(Visit visit) throws IOException {
        Call call = visit.call();
        Account account = FileUser.of(visit, call.query("username"));
        Upload upload = new Upload(visit, account, Metadata.of(call));
        String type = call.header("Content-Type").orElse("");
        String media = type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
        visit.beforeWrite();
        InputStream body = body(call);
        switch (media) {
            case "application/octet-stream" ->
                upload.write(
                        call.query("path")
                                .orElseThrow(() ->
                                        new E2bError(400, "path query parameter is required for raw body upload")),
                        body);
            case "multipart/form-data" -> upload.form(body, type);
            default ->
                throw new E2bError(
                        400,
                        "unsupported content type: " + type
                                + ", expected multipart/form-data or application/octet-stream");
        }
        call.answer(200, List.copyOf(upload.written.values()));
    }

    private static InputStream body(Call call) {
        if (!Encodings.gzipped(call.header("Content-Encoding"))) {
            return call.body();
        }
        try {
            return new Unzipped(new GZIPInputStream(call.body()));
        } catch (ZipException | EOFException e) {
            throw Unzipped.malformed();
        } catch (IOException e) {
            throw new Call.Broken(e);
        }
    }

    private void form(InputStream body, String type) {
        Optional<String> given = visit.call().query("path");
        FormReader form = FormReader.of(body, type);
        try {
            for (Optional<FormReader.Part> part = form.next(); part.isPresent(); part = form.next()) {
                if (part.get().name().equals(PART)) {
                    String path = given.or(part.get()::file)
                            .orElseThrow(() -> new E2bError(
                                    400,
                                    "error getting multipart custom part file name: filename not found in"
                                            + " Content-Disposition header"));
                    write(path, part.get().content());
                }
            }
        } catch (IOException e) {
            throw new E2bError(400, "error reading form: " + e.getMessage());
        }
    }

    private void write(String asked, InputStream content) {
        String path = FileUser.path(account, asked);
        if (written.containsKey(path)) {
            throw new E2bError(
                    400,
                    "you cannot upload multiple files to the same path '" + path
                            + "' in one upload request, only the first specified file was uploaded");
        }
        SandboxFiles files = visit.sandbox().files().as(account.name());
        long began = System.nanoTime();
        try {
            requireNoDirectory(files, path);
            files.write(path, content);
            files.attributes(path, Entries.ATTRIBUTE, Metadata.attributes(metadata));
        } catch (SandboxException e) {
            throw failed(path, e);
        }
        Map<String, Object> entry = entry(path);
        if (!metadata.isEmpty()) {
            entry.put("metadata", metadata);
        }
        written.put(path, entry);
        visit.record("write", Optional.of(path), OptionalInt.empty(), Duration.ofNanos(System.nanoTime() - began));
    }

    private static void requireNoDirectory(SandboxFiles files, String path) {
        try {
            if (files.resolved(path).type() == FileInfo.Type.DIRECTORY) {
                throw new E2bError(400, "path is a directory: " + path);
            }
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                throw e;
            }
        }
    }

    static Map<String, Object> entry(String path) {
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("path", path);
        entry.put("name", UserPath.name(path));
        entry.put("type", "file");
        return entry;
    }

    /** Only a disk that is full is something that clients know by itself. */
    static RuntimeException failed(String path, SandboxException e) {
        return switch (e.code()) {
            case LIMIT -> new E2bError(507, "not enough disk space available: " + e.getMessage());
            case NOT_FOUND -> new E2bError(400, "error ensuring directories: " + e.getMessage());
            case CONFLICT, DENIED -> new E2bError(400, "error opening file '" + path + "': " + e.getMessage());
            default -> e;
        };
    }

    /** A body that was compressed. What cannot be decompressed is the client's fault, wherever it comes to light. */
    private static final class Unzipped extends FilterInputStream {
        Unzipped(InputStream in) {
            super(in);
        }

        static E2bError malformed() {
            return new E2bError(400, "error decompressing request body: it is not in gzip format, or breaks off");
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            try {
                return in.read(bytes, offset, length);
            } catch (ZipException | EOFException e) {
                throw malformed();
            }
        }
    }
}

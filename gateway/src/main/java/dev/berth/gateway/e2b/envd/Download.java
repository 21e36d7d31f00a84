package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URLConnection;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;

/** {@code GET /files}: the content of a file, whole or in part, as it is read. */
final class Download {
    private static final int CHUNK = 64 << 10;
    /** Who asks for a part, or for a certain one, is not sent a compressed one, which would be another. */
    private static final List<String> CONDITIONS =
            List.of("Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since");

    private static final String TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";

    private Download() {}

    static void answer(Visit visit) throws IOException {
        Call call = visit.call();
        Account account = FileUser.of(visit, call.query("username"));
        String path = FileUser.path(account, call.query("path").orElse(""));
        FileInfo file = find(visit, path);
        if (file.type() == FileInfo.Type.DIRECTORY) {
            throw new E2bError(400, "path '" + path + "' is a directory");
        }
        boolean gzip = Encodings.gzipWanted(call.header("Accept-Encoding"));
        String tag = tag(file);
        String type = Optional.ofNullable(URLConnection.guessContentTypeFromName(UserPath.name(path)))
                .orElse("application/octet-stream");
        call.header("Vary", "Accept-Encoding")
                .header("Content-Disposition", disposition(UserPath.name(path)))
                // What is in a sandbox is anybody's; a browser is to run none of it as if it were of this host.
                .header("X-Content-Type-Options", "nosniff")
                .header("Content-Security-Policy", "sandbox");
        boolean special = CONDITIONS.stream().anyMatch(name -> call.header(name).isPresent());
        if (gzip && !special && file.size() > 0) {
            try (InputStream in = open(visit, file, 0, file.size())) {
                call.header("Content-Encoding", "gzip");
                zip(in, file.size(), call.stream(200, type));
            }
            return;
        }
        call.header("ETag", tag)
                .header("Last-Modified", httpDate(file.modifiedAt()))
                .header("Accept-Ranges", "bytes");
        if (modified(call, tag, file.modifiedAt())) {
            throw new E2bError(412, "path '" + path + "' is not as it was");
        }
        if (notModified(call, tag, file.modifiedAt())) {
            call.answer(304);
            return;
        }
        boolean sameFile = call.header("If-Range")
                .map(condition -> condition.equals(tag) || date(condition).equals(seconds(file.modifiedAt())))
                .orElse(true);
        switch (ByteRange.of(sameFile ? call.header("Range") : Optional.empty(), file.size())) {
            case ByteRange.Asked.Whole _ -> send(visit, file, 200, type, new ByteRange(0, file.size() - 1));
            case ByteRange.Asked.Part(ByteRange range) -> {
                call.header("Content-Range", "bytes " + range.first() + "-" + range.last() + "/" + file.size());
                send(visit, file, 206, type, range);
            }
            case ByteRange.Asked.Unsatisfiable _ -> {
                call.header("Content-Range", "bytes */" + file.size());
                throw new E2bError(416, "invalid range: failed to overlap");
            }
        }
    }

    /** Another one whenever the file is written, as far as its time can tell. */
    private static String tag(FileInfo file) {
        long micros = ChronoUnit.MICROS.between(Instant.EPOCH, file.modifiedAt());
        return "\"" + Long.toHexString(micros) + "-" + Long.toHexString(file.size()) + "\"";
    }

    private static FileInfo find(Visit visit, String path) {
        try {
            return visit.sandbox().files().resolved(path);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                throw new E2bError(404, "path '" + path + "' does not exist");
            }
            throw e;
        }
    }

    private static InputStream open(Visit visit, FileInfo file, long offset, long length) {
        return visit.sandbox().files().read(file.path(), offset, length);
    }

    /** Its end is written only when all was there: a client takes what has one for the whole file. */
    static void zip(InputStream in, long size, OutputStream to) {
        try {
            GZIPOutputStream out = new GZIPOutputStream(to, CHUNK);
            if (in.transferTo(out) < size) {
                throw shorter();
            }
            out.close();
        } catch (IOException | SandboxException e) {
            throw new Call.Broken(e);
        }
    }

    private static IOException shorter() {
        return new IOException("the file became shorter while it was read");
    }

    private static void send(Visit visit, FileInfo file, int status, String type, ByteRange range) throws IOException {
        Call call = visit.call();
        try (InputStream in = open(visit, file, range.first(), range.length())) {
            call.header("Content-Length", Long.toString(range.length()));
            try (OutputStream out = call.stream(status, type)) {
                byte[] chunk = new byte[CHUNK];
                long left = range.length();
                for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                    out.write(chunk, 0, n);
                    left -= n;
                }
                if (left > 0) {
                    throw shorter();
                }
            } catch (IOException e) {
                throw new Call.Broken(e);
            }
        }
    }

    /** Whether it is another one than the client wants to have a part of. */
    private static boolean modified(Call call, String tag, Instant modifiedAt) {
        Optional<String> tags = call.header("If-Match");
        if (tags.isPresent()) {
            return !named(tags.get(), Set.of("*", tag));
        }
        return call.header("If-Unmodified-Since")
                .flatMap(Download::date)
                .filter(since -> modifiedAt.truncatedTo(ChronoUnit.SECONDS).isAfter(since))
                .isPresent();
    }

    private static boolean named(String tags, Set<String> wanted) {
        return Stream.of(tags.split(",")).map(String::strip).anyMatch(wanted::contains);
    }

    private static boolean notModified(Call call, String tag, Instant modifiedAt) {
        Optional<String> tags = call.header("If-None-Match");
        if (tags.isPresent()) {
            return named(tags.get(), Set.of("*", tag, "W/" + tag));
        }
        return call.header("If-Modified-Since")
                .flatMap(Download::date)
                .filter(since -> !modifiedAt.truncatedTo(ChronoUnit.SECONDS).isAfter(since))
                .isPresent();
    }

    private static Optional<Instant> seconds(Instant moment) {
        return Optional.of(moment.truncatedTo(ChronoUnit.SECONDS));
    }

    private static Optional<Instant> date(String text) {
        try {
            return Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant());
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    private static String httpDate(Instant moment) {
        return DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", java.util.Locale.ROOT)
                .format(moment.atZone(ZoneOffset.UTC));
    }

    /** The name in the form that it needs: plain, quoted, or as UTF-8 in percents (RFC 6266). */
    static String disposition(String name) {
        if (name.matches(TOKEN)) {
            return "inline; filename=" + name;
        }
        if (name.chars().allMatch(c -> c >= ' ' && c < 0x7f)) {
            return "inline; filename=\"" + name.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
        }
        return "inline; filename*=utf-8''"
                + URLEncoder.encode(name, StandardCharsets.UTF_8)
                        .replace("+", "%20")
                        .replace("*", "%2A");
    }
}

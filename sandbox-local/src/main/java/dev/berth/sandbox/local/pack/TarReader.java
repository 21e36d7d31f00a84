package dev.berth.sandbox.local.pack;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.NodeAttributes;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Reads what GNU tar writes for {@link TreePacker}: the pax format of POSIX (pax(1), "ustar" blocks with records before
 * them), with GNU's records for extended attributes and for files with holes (format 1.0 in tar's manual). Anything else
 * is refused, since whatever is not understood would be lost.
 */
final class TarReader {
    private static final int BLOCK = 512;
    /** The records of one node: its path, and its extended attributes, of which the kernel lists 64 KB of names. */
    private static final int MOST_RECORDS = 64 << 20;

    private static final String XATTR = "SCHILY.xattr.";

    private final InputStream in;
    /** Bytes of the current member's content that were not read, and the padding after them. */
    private long left;

    private int padding;

    TarReader(InputStream in) {
        this.in = in;
    }

    /** The next node, or nothing at the end; what was not read of the content of the last one is skipped. */
    Optional<Member> next() throws IOException {
        skip(left + padding);
        Map<String, String> records = Map.of();
        while (true) {
            byte[] header = block();
            if (isZero(header)) {
                if (!records.isEmpty() || !isZero(block())) {
                    throw damaged("its end is not where it should be");
                }
                left = 0;
                padding = 0;
                return Optional.empty();
            }
            verify(header);
            if (header[156] != 'x') {
                return Optional.of(member(header, records));
            }
            if (!records.isEmpty()) {
                throw damaged("it has records without a file");
            }
            records = records(octal(header, 124, 12));
        }
    }

    /** Reads content of the current member: as much as there is, up to the length of the buffer. */
    int read(byte[] buffer, long most) throws IOException {
        int wanted = (int) Math.min(Math.min(most, buffer.length), left);
        if (in.readNBytes(buffer, 0, wanted) < wanted) {
            throw damaged("it ends too early");
        }
        left -= wanted;
        return wanted;
    }

    /** Reads a decimal number that ends with a newline, as the map of a file with holes has them. */
    long readNumber() throws IOException {
        long number = 0;
        byte[] digit = new byte[1];
        for (int digits = 0; digits < 20; digits++) {
            if (read(digit, 1) == 0) {
                break;
            }
            if (digit[0] == '\n' && digits > 0) {
                return number;
            }
            if (digit[0] < '0' || digit[0] > '9' || number > Long.MAX_VALUE / 10 - 10) {
                break;
            }
            number = number * 10 + digit[0] - '0';
        }
        throw damaged("the map of a file with holes makes no sense");
    }

    long left() {
        return left;
    }

    static SandboxException damaged(String how) {
        return SandboxException.invalid(
                "the packed files cannot be read: " + how + "; get them once more from where they are kept");
    }

    private Member member(byte[] header, Map<String, String> records) throws IOException {
        Member.Type type = switch (header[156]) {
            case '0', 0 -> Member.Type.FILE;
            case '1' -> Member.Type.HARD_LINK;
            case '2' -> Member.Type.LINK;
            case '3' -> Member.Type.CHARACTER_DEVICE;
            case '4' -> Member.Type.BLOCK_DEVICE;
            case '5' -> Member.Type.DIRECTORY;
            case '6' -> Member.Type.FIFO;
            default -> throw damaged("it has an entry of the unknown type " + header[156]);
        };
        boolean holes = records.containsKey("GNU.sparse.major");
        if (holes
                && !(type == Member.Type.FILE
                        && "1".equals(records.get("GNU.sparse.major"))
                        && "0".equals(records.get("GNU.sparse.minor")))) {
            throw damaged("it has a file with holes in a form that is not known");
        }
        String name = holes ? records.get("GNU.sparse.name") : records.get("path");
        String target = records.getOrDefault("linkpath", text(header, 157, 100));
        left = number(records, "size", header, 124, 12);
        padding = (int) (-left & BLOCK - 1);
        if (left != 0 && type != Member.Type.FILE) {
            throw damaged("something that is no file has content");
        }
        return new Member(
                type,
                path(name == null ? name(header) : name),
                target,
                left,
                holes
                        ? OptionalLong.of(decimal(records.getOrDefault("GNU.sparse.realsize", "")))
                        : OptionalLong.empty(),
                Math.toIntExact(octal(header, 329, 8)),
                Math.toIntExact(octal(header, 337, 8)),
                attributes(header, records));
    }

    private static NodeAttributes attributes(byte[] header, Map<String, String> records) {
        BigDecimal written = records.containsKey("mtime")
                ? fraction(records.get("mtime"))
                : BigDecimal.valueOf(octal(header, 136, 12));
        BigDecimal seconds = written.setScale(0, RoundingMode.FLOOR);
        Map<String, String> xattrs = new LinkedHashMap<>();
        records.forEach((key, value) -> {
            if (key.startsWith(XATTR)) {
                // The two characters that tar writes otherwise, as an equals sign ends a key.
                xattrs.put(key.substring(XATTR.length()).replace("%3D", "=").replace("%25", "%"), value);
            }
        });
        return new NodeAttributes(
                (int) octal(header, 100, 8) & 07777,
                (int) number(records, "uid", header, 108, 8),
                (int) number(records, "gid", header, 116, 8),
                seconds.longValue(),
                written.subtract(seconds).movePointRight(9).intValue(),
                xattrs);
    }

    /** What tar writes of a directory that it was told to call ".": downwards from there, and nothing else. */
    private static List<String> path(String path) {
        if (path.equals("./")) {
            return List.of();
        }
        String below = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        List<String> names = List.of(below.split("/", -1));
        boolean strange = names.stream()
                .skip(1)
                .anyMatch(name -> name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('\0') >= 0);
        if (strange || names.size() < 2 || !names.getFirst().equals(".")) {
            throw damaged("it has a name that leads elsewhere");
        }
        return names.subList(1, names.size());
    }

    /** The path of the file that a hard link is a second name of. */
    static List<String> target(Member hardLink) {
        List<String> path = path(hardLink.target());
        if (path.isEmpty()) {
            throw damaged("it has a second name for its root");
        }
        return path;
    }

    private Map<String, String> records(long size) throws IOException {
        if (size > MOST_RECORDS) {
            throw damaged("the attributes of one of its files are too many");
        }
        byte[] content = in.readNBytes((int) size);
        if (content.length < size) {
            throw damaged("it ends too early");
        }
        skip(-size & BLOCK - 1);
        Map<String, String> records = new HashMap<>();
        int position = 0;
        while (position < content.length) {
            position = record(content, position, records);
        }
        return records;
    }

    /** "length key=value\n", where the length is that of all of it. */
    static int record(byte[] content, int start, Map<String, String> records) {
        int blank = find(content, start, ' ');
        int length = blank < 0 ? 0 : (int) Math.min(decimal(text(content, start, blank - start)), Integer.MAX_VALUE);
        int end = start + length;
        int equals = blank < 0 ? -1 : find(content, blank, '=');
        if (length <= 0 || end > content.length || end < 0 || equals < 0 || equals >= end || content[end - 1] != '\n') {
            throw damaged("one of its records makes no sense");
        }
        records.put(
                new String(content, blank + 1, equals - blank - 1, ISO_8859_1),
                new String(content, equals + 1, end - equals - 2, ISO_8859_1));
        return end;
    }

    private static int find(byte[] content, int from, char wanted) {
        for (int i = from; i < content.length; i++) {
            if (content[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    private static String name(byte[] header) {
        String prefix = text(header, 345, 155);
        return prefix.isEmpty() ? text(header, 0, 100) : prefix + "/" + text(header, 0, 100);
    }

    private static long number(Map<String, String> records, String key, byte[] header, int offset, int length) {
        String value = records.get(key);
        return value == null ? octal(header, offset, length) : decimal(value);
    }

    private static long decimal(String digits) {
        try {
            long number = Long.parseLong(digits);
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // told below
        }
        throw damaged("one of its numbers makes no sense");
    }

    private static BigDecimal fraction(String digits) {
        try {
            if (digits.length() < 40) {
                return new BigDecimal(digits);
            }
        } catch (NumberFormatException e) {
            // told below
        }
        throw damaged("one of its times makes no sense");
    }

    private static long octal(byte[] header, int offset, int length) {
        String digits = text(header, offset, length).strip();
        try {
            return digits.isEmpty() ? 0 : Long.parseLong(digits, 8);
        } catch (NumberFormatException e) {
            throw damaged("one of its numbers makes no sense");
        }
    }

    static String text(byte[] bytes, int offset, int length) {
        int end = offset;
        while (end < offset + length && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, offset, end - offset, ISO_8859_1);
    }

    /** The sum of all bytes, those of the sum itself taken as blanks. */
    private static void verify(byte[] header) {
        long sum = 0;
        for (int i = 0; i < BLOCK; i++) {
            sum += i >= 148 && i < 156 ? ' ' : header[i] & 0xff;
        }
        if (sum != octal(header, 148, 8) || !text(header, 257, 6).equals("ustar")) {
            throw damaged("it is not in the form in which it was written");
        }
    }

    private byte[] block() throws IOException {
        byte[] block = in.readNBytes(BLOCK);
        if (block.length < BLOCK) {
            throw damaged("it ends too early");
        }
        return block;
    }

    private void skip(long bytes) throws IOException {
        try {
            in.skipNBytes(bytes);
        } catch (java.io.EOFException e) {
            throw damaged("it ends too early");
        }
    }

    static boolean isZero(byte[] block) {
        for (byte b : block) {
            if (b != 0) {
                return false;
            }
        }
        return true;
    }
}

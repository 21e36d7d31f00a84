package dev.berth.sandbox.local.pack;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.NodeAttributes;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Reads tar files that others made: those of Node, Python, Go and GNU. Where {@link TarReader} refuses what it does not
 * know, since it would be lost, this one passes over it. What leads out of the archive is refused all the same.
 */
final class ArchiveReader {
    private static final int BLOCK = 512;
    /** In bytes, for all headers before a member together: they are in memory at once. */
    private static final int MOST_RECORDS = 1 << 20;

    /** How many headers that stand for nothing come before a member; usual ones are three, for both names and the rest. */
    private static final int MOST_EXTENSIONS = 8;

    private static final int LONGEST_NAME = 1 << 16;
    /** What is on the way to it comes on top, and the kernel takes 4096. */
    private static final int LONGEST_PATH = 2048;

    private static final String XATTR = "SCHILY.xattr.user.";

    private final InputStream in;
    /** Bytes of the current member's content that were not read, and the padding after them. */
    private long left;

    private int padding;

    ArchiveReader(InputStream in) {
        this.in = in;
    }

    /** The next node, or nothing at the end; what was not read of the content of the last one is skipped. */
    Optional<Member> next() throws IOException {
        Map<String, String> records = new HashMap<>();
        int room = MOST_RECORDS;
        for (int headers = 0; headers <= MOST_EXTENSIONS; headers++) {
            skip(left + padding);
            left = 0;
            padding = 0;
            byte[] header = in.readNBytes(BLOCK);
            if (header.length == 0 || (header.length == BLOCK && TarReader.isZero(header))) {
                return Optional.empty();
            }
            if (header.length < BLOCK) {
                throw damaged("it ends too early");
            }
            verify(header);
            left = records.containsKey("size") ? decimal(records.get("size")) : number(header, 124, 12);
            padding = (int) (-left & BLOCK - 1);
            int size = (int) Math.min(left, Integer.MAX_VALUE);
            switch (header[156]) {
                case 'x' -> {
                    records.putAll(records(room));
                    room -= size;
                }
                case 'L' -> records.put("path", longName());
                case 'K' -> records.put("linkpath", longName());
                case '0', 0, '7', '1', '2', '5', '6', '3', '4' -> {
                    return Optional.of(member(header, records));
                }
                default -> records.clear(); // settings for all that follow, labels of tapes and the like
            }
        }
        throw damaged("it says too much about one of its files");
    }

    /** Reads content of the current member: as much as there is, up to the length of the buffer. */
    int read(byte[] buffer) throws IOException {
        int wanted = (int) Math.min(buffer.length, left);
        if (in.readNBytes(buffer, 0, wanted) < wanted) {
            throw damaged("it ends too early");
        }
        left -= wanted;
        return wanted;
    }

    static SandboxException damaged(String how) {
        return SandboxException.invalid("the archive cannot be read: " + how);
    }

    private Member member(byte[] header, Map<String, String> records) {
        String name = records.getOrDefault("path", name(header));
        // In the oldest form of tar a directory is a file whose name ends with a slash.
        boolean file = header[156] == '0' || header[156] == 0 || header[156] == '7';
        Member.Type type = switch (header[156]) {
            case '1' -> Member.Type.HARD_LINK;
            case '2' -> Member.Type.LINK;
            case '3' -> Member.Type.CHARACTER_DEVICE;
            case '4' -> Member.Type.BLOCK_DEVICE;
            case '5' -> Member.Type.DIRECTORY;
            case '6' -> Member.Type.FIFO;
            default -> name.endsWith("/") ? Member.Type.DIRECTORY : Member.Type.FILE;
        };
        if (file && records.keySet().stream().anyMatch(key -> key.startsWith("GNU.sparse."))) {
            throw damaged("it has files with holes; pack them without --sparse");
        }
        String target = records.getOrDefault("linkpath", TarReader.text(header, 157, 100));
        Map<String, String> xattrs = new LinkedHashMap<>();
        records.forEach((key, value) -> {
            if (key.startsWith(XATTR) && !key.startsWith(XATTR + "overlay.")) {
                xattrs.put(key.substring(XATTR.length() - "user.".length()), value);
            }
        });
        return new Member(
                type,
                path(name),
                target,
                left,
                OptionalLong.empty(),
                0,
                0,
                new NodeAttributes(
                        (int) number(header, 100, 8) & 07777,
                        id(records, "uid", header, 108),
                        id(records, "gid", header, 116),
                        seconds(records, header),
                        0,
                        xattrs));
    }

    /** Downwards from where it is unpacked, and nothing else. */
    static List<String> path(String path) {
        if (path.length() > LONGEST_PATH) {
            throw damaged("it has a name of more than " + LONGEST_PATH + " bytes");
        }
        List<String> names = new ArrayList<>();
        for (String name : path.split("/")) {
            if (name.equals("..") || name.indexOf('\0') >= 0) {
                throw damaged("it has a name that leads out of it");
            }
            if (!name.isEmpty() && !name.equals(".")) {
                names.add(name);
            }
        }
        return names;
    }

    private Map<String, String> records(int most) throws IOException {
        byte[] content = content(most);
        Map<String, String> records = new HashMap<>();
        int position = 0;
        while (position < content.length) {
            position = TarReader.record(content, position, records);
        }
        return records;
    }

    private String longName() throws IOException {
        byte[] content = content(LONGEST_NAME);
        return TarReader.text(content, 0, content.length);
    }

    private byte[] content(int most) throws IOException {
        if (left > most) {
            throw damaged("the name or the attributes of one of its files are too long");
        }
        byte[] content = new byte[(int) left];
        int _ = read(content);
        return content;
    }

    private static String name(byte[] header) {
        String name = TarReader.text(header, 0, 100);
        // GNU's own form has other things there.
        boolean posix = header[262] == 0 && TarReader.text(header, 257, 5).equals("ustar");
        String prefix = posix ? TarReader.text(header, 345, 155) : "";
        return prefix.isEmpty() ? name : prefix + "/" + name;
    }

    private static int id(Map<String, String> records, String key, byte[] header, int offset) {
        String value = records.get(key);
        long id = value == null ? number(header, offset, 8) : decimal(value);
        return (int) Math.min(id, Integer.MAX_VALUE);
    }

    private static long seconds(Map<String, String> records, byte[] header) {
        String value = records.get("mtime");
        if (value == null) {
            return number(header, 136, 12);
        }
        try {
            return (long) Math.floor(Double.parseDouble(value));
        } catch (NumberFormatException e) {
            throw damaged("one of its times makes no sense");
        }
    }

    private static long decimal(@org.jspecify.annotations.Nullable String digits) {
        try {
            long number = Long.parseLong(String.valueOf(digits));
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // told below
        }
        throw damaged("one of its numbers makes no sense");
    }

    /** Octal digits, or binary if the first bit is set (GNU's tar manual, "Base-256 Headers"). */
    private static long number(byte[] header, int offset, int length) {
        if ((header[offset] & 0x80) == 0) {
            String digits = new String(header, offset, length, ISO_8859_1)
                    .replace('\0', ' ')
                    .strip();
            try {
                return digits.isEmpty() ? 0 : Long.parseLong(digits, 8);
            } catch (NumberFormatException e) {
                throw damaged("one of its numbers makes no sense");
            }
        }
        long number = header[offset] & 0x7f;
        for (int i = 1; i < length; i++) {
            if (number >> 54 != 0) {
                throw damaged("one of its numbers makes no sense");
            }
            number = (number << 8) | (header[offset + i] & 0xff);
        }
        return number;
    }

    /** The sum of all bytes, those of the sum itself taken as blanks. */
    private static void verify(byte[] header) {
        long sum = 0;
        for (int i = 0; i < BLOCK; i++) {
            sum += i >= 148 && i < 156 ? ' ' : header[i] & 0xff;
        }
        if (sum != number(header, 148, 8)) {
            throw damaged("it is no tar file, or damaged");
        }
    }

    private void skip(long bytes) throws IOException {
        try {
            in.skipNBytes(bytes);
        } catch (java.io.EOFException e) {
            throw damaged("it ends too early");
        }
    }
}

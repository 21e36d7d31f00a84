package dev.berth.gateway.api;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A single range of bytes, as RFC 9110, section 14 has it.
 *
 * @param first missing if {@code last} counts from the end
 */
record ByteRange(OptionalLong first, OptionalLong last) {
    private static final Pattern SINGLE = Pattern.compile("bytes=\\s*([0-9]{0,18})-([0-9]{0,18})\\s*");

    /** Some bytes of a content. */
    record Part(long offset, long length) {
        String header(long size) {
            return "bytes " + offset + "-" + (offset + length - 1) + "/" + size;
        }
    }

    /** Several ranges, and what is no range at all, are passed over, as the RFC allows: all of it is sent then. */
    static Optional<ByteRange> parse(String header) {
        Matcher matcher = SINGLE.matcher(header);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        OptionalLong first = number(matcher.group(1));
        OptionalLong last = number(matcher.group(2));
        boolean backwards = first.isPresent() && last.isPresent() && last.getAsLong() < first.getAsLong();
        return backwards || (first.isEmpty() && last.isEmpty())
                ? Optional.empty()
                : Optional.of(new ByteRange(first, last));
    }

    private static OptionalLong number(String digits) {
        return digits.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(digits));
    }

    /** What it is of a content of this size; nothing if it has no byte of it. */
    Optional<Part> of(long size) {
        long begin = first.orElseGet(() -> Math.max(0, size - last.getAsLong()));
        long end = first.isEmpty() ? size : Math.min(size, last.orElse(size) + 1);
        return begin >= end ? Optional.empty() : Optional.of(new Part(begin, end - begin));
    }
}

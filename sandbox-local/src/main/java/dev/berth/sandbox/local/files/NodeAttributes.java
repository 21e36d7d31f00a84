package dev.berth.sandbox.local.files;

import java.util.Map;

/**
 * What a file, directory or other node has beside its name and content, as the host sees it.
 *
 * @param mode permissions, with setuid, setgid and sticky bits
 * @param seconds when it was written, since 1970, and before that if negative
 * @param xattrs extended attributes; names and values are bytes, and each character here stands for one
 */
public record NodeAttributes(int mode, int uid, int gid, long seconds, int nanos, Map<String, String> xattrs) {}

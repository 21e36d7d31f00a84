package dev.berth.sandbox.local.files;

import dev.berth.sandbox.local.linux.IdMap;

/** Who owns a file, with ids as the host sees them. */
record Owner(int uid, int gid) {
    /** An owner as the sandbox names it. @throws IllegalArgumentException if a sandbox has no such id */
    static Owner inside(int uid, int gid) {
        return new Owner(IdMap.toHost(uid), IdMap.toHost(gid));
    }
}

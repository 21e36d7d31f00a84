package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.Account;
import java.util.ArrayDeque;

/** What a path means for a user: an absolute one itself, any other one is in his home. */
final class UserPath {
    private UserPath() {}

    /** @throws ConnectError if it is in somebody else's home by name, which nobody looks up */
    static String of(Account account, String path) {
        if (path.isEmpty()) {
            return account.home();
        }
        if (path.startsWith("~")) {
            if (path.length() > 1 && path.charAt(1) != '/') {
                throw ConnectError.invalid("failed to expand path '" + path + "' for user '" + account.name()
                        + "': cannot expand user-specific home dir");
            }
            return clean(account.home() + path.substring(1));
        }
        return path.startsWith("/") ? path : clean(account.home() + "/" + path);
    }

    /** Without empty parts and dots, as it stands: no link is looked at. */
    static String clean(String path) {
        ArrayDeque<String> parts = new ArrayDeque<>();
        for (String part : path.split("/")) {
            switch (part) {
                case "", "." -> {}
                case ".." -> parts.pollLast();
                default -> parts.add(part);
            }
        }
        return "/" + String.join("/", parts);
    }

    static String name(String path) {
        String clean = clean(path);
        return clean.equals("/") ? clean : clean.substring(clean.lastIndexOf('/') + 1);
    }
}

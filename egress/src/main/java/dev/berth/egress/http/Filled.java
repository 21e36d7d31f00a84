package dev.berth.egress.http;

import java.util.List;
import java.util.Set;

/**
 * A request with its secrets.
 *
 * @param secrets names of those that were put in
 * @param spellings how their values may come back in the answer
 */
record Filled(Head head, Set<String> secrets, List<byte[]> spellings) {
    Filled {
        secrets = Set.copyOf(secrets);
        spellings = List.copyOf(spellings);
    }

    @Override
    public String toString() {
        return head + " with " + secrets;
    }
}

package dev.berth.client;

import java.util.List;

/** Keys that sandboxes use and never have. */
public final class Secrets {
    private final BerthClient berth;

    Secrets(BerthClient berth) {
        this.berth = berth;
    }

    public List<Secret> list() {
        return berth.list(Call.get("/v1/secrets"), "secrets", Secret::of);
    }

    public Secret get(String name) {
        return Secret.of(berth.json(Call.get(path(name))));
    }

    /**
     * Makes a secret or changes one.
     *
     * @param change {@code value}, {@code bindings}, {@code env} and {@code prefix} as the API has them; what is not there
     *     stays as it is
     */
    public Secret put(String name, Json change) {
        return Secret.of(berth.json(Call.put(path(name), change)));
    }

    /** The next request that needs it fails. */
    public void delete(String name) {
        berth.done(Call.delete(path(name)));
    }

    private static String path(String name) {
        return "/v1/secrets/" + Call.encode(name);
    }
}

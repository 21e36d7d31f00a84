package dev.berth.client;

import java.io.InputStream;

/** Files that runs made for people to see. {@link SessionClient#artifacts} lists them. */
public final class Artifacts {
    private final BerthClient berth;

    Artifacts(BerthClient berth) {
        this.berth = berth;
    }

    public Artifact get(String id) {
        return Artifact.of(berth.json(Call.get(path(id))));
    }

    /** Its bytes from this one on, as they come. To be closed. */
    public InputStream content(String id, long from) {
        Call call = Call.get(path(id) + "/content");
        return berth.stream(from == 0 ? call : call.header("Range", "bytes=" + from + "-"));
    }

    public void delete(String id) {
        berth.done(Call.delete(path(id)));
    }

    private static String path(String id) {
        return "/v1/artifacts/" + Call.encode(id);
    }
}

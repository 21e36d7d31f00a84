package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;

/** Lets pages of any origin ask: it is the token that opens a sandbox, and no browser sends that by itself. */
final class Cors {
    private Cors() {}

    /** Says so, and whether that was all that was asked. */
    static boolean answered(Call call) {
        call.header("Access-Control-Allow-Origin", "*").header("Access-Control-Expose-Headers", "*");
        if (!call.method().equals("OPTIONS")) {
            return false;
        }
        call.header("Access-Control-Allow-Methods", "HEAD, GET, POST, PUT, PATCH, DELETE")
                .header(
                        "Access-Control-Allow-Headers",
                        call.header("Access-Control-Request-Headers").orElse("*"))
                .header("Access-Control-Max-Age", "7200")
                .answer(204);
        return true;
    }
}

package dev.berth.gateway.http;

/** A failure that is no kind of failure that anybody but HTTP knows. */
public final class HttpProblem extends RuntimeException {
    private final int status;
    private final String code;

    public HttpProblem(int status, String code, String detail) {
        super(detail, null, false, false);
        this.status = status;
        this.code = code;
    }

    public int status() {
        return status;
    }

    public String code() {
        return code;
    }
}

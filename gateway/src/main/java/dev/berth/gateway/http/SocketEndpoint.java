package dev.berth.gateway.http;

/** Answers those who want an operation of the contract as a WebSocket. */
public interface SocketEndpoint {
    /**
     * Looks at the request before the connection becomes a WebSocket: what is thrown here is answered as to any request.
     * Nothing may be held yet that has to be let go, as the client may fail to become one.
     */
    Talk open(Exchange exchange) throws Exception;

    /** The conversation, on a thread of its own; the connection is closed when it returns. */
    interface Talk {
        void with(Socket socket) throws Exception;
    }
}

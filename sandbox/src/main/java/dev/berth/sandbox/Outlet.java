package dev.berth.sandbox;

/** Takes the connections that programs in a sandbox make to the proxy port on its loopback. */
public interface Outlet {
    /** The port inside, on 127.0.0.1 and ::1, in every mode but {@link Network.Mode#NONE}. */
    int PORT = 3128;

    /** Called on a virtual thread of the connection's own. It is closed when this returns. */
    void take(Sandbox sandbox, Connection connection);
}

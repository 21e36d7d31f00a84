package dev.berth.gateway.http;

import java.util.Map;

/** Where what happens in a call is told as it happens, to those who asked for that. */
public interface CallEvents {
    /** Nobody listens. */
    CallEvents NONE = new CallEvents() {
        @Override
        public void event(String name, Map<String, Object> data) {}

        @Override
        public boolean heard() {
            return false;
        }
    };

    /** Never waits, whoever listens. */
    void event(String name, Map<String, Object> data);

    /** Whether anybody listens, for those to whom telling is work. */
    default boolean heard() {
        return true;
    }
}

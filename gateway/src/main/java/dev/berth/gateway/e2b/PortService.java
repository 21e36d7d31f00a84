package dev.berth.gateway.e2b;

/** Answers what is asked of a port of a sandbox. */
public interface PortService {
    void serve(Place place, Call call) throws Exception;
}

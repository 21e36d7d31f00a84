package dev.berth.tool;

/**
 * Hears the output of a call while it runs, besides what is kept of it. Both streams are told by a thread each, in order;
 * whoever listens must not keep them waiting, as the call would wait too.
 */
public interface OutputTap {
    OutputTap NONE = (_, _, _, _) -> {};

    void output(OutputStore.Stream stream, byte[] bytes, int offset, int length);
}

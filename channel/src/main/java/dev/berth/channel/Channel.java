package dev.berth.channel;

import java.util.List;

/** A service in which people talk to agents. */
public interface Channel extends AutoCloseable {
    String name();

    /**
     * Makes a place show a board, as soon as the service lets it. Called again whenever there is something new, by one thread
     * at a time for each run; it may take its time, and then finds everything that happened meanwhile on the next board.
     *
     * @param reply what the {@linkplain Incoming message} said
     * @param memo what this returned the last time, also by a server before this one; empty at first
     * @return what it wants to know the next time: which messages it has written, which files it has sent
     * @throws ChannelException if the service does not take it
     */
    String show(Place place, String reply, Board board, Files files, String memo) throws InterruptedException;

    /** Says something there that belongs to no run that goes on: a job has ended, files came late. */
    void notice(Place place, String text, List<Board.Shown> shown, Files files) throws InterruptedException;

    @Override
    void close();
}

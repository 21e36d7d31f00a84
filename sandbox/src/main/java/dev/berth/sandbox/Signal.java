package dev.berth.sandbox;

/** The signals that can be sent to a command, by their Linux numbers. */
public enum Signal {
    HUP(1),
    INT(2),
    QUIT(3),
    KILL(9),
    USR1(10),
    USR2(12),
    TERM(15),
    CONT(18),
    STOP(19),
    WINCH(28);

    private final int number;

    Signal(int number) {
        this.number = number;
    }

    public int number() {
        return number;
    }
}

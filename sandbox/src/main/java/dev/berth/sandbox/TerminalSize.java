package dev.berth.sandbox;

/** Rows and columns of a terminal. */
public record TerminalSize(int rows, int cols) {
    public TerminalSize {
        if (rows < 1 || rows > 65_535 || cols < 1 || cols > 65_535) {
            throw SandboxException.invalid("a terminal has 1 to 65535 rows and columns");
        }
    }
}

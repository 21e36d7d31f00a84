package dev.berth.session;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A {@link RaceServer} that runs. */
final class RaceServerProcess {
    private final Process process;
    private final PrintStream requests;
    private final CompletableFuture<String> ready = new CompletableFuture<>();
    private final Map<String, CompletableFuture<String>> answers = new ConcurrentHashMap<>();
    private final AtomicInteger numbers = new AtomicInteger();

    private RaceServerProcess(Process process) {
        this.process = process;
        this.requests = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread.ofPlatform().daemon().name("answers of " + process.pid()).start(this::read);
    }

    static RaceServerProcess start(String database, Path directory, long seed) throws IOException {
        return new RaceServerProcess(new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        RaceServer.class.getName(),
                        database,
                        directory.toString(),
                        Long.toString(seed))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    void awaitReady() throws Exception {
        ready.get(60, TimeUnit.SECONDS);
    }

    long pid() {
        return process.pid();
    }

    /** The outcome, as the server tells it; {@code died} if it does so before. */
    CompletableFuture<String> ask(String verb, String session) {
        String number = Integer.toString(numbers.incrementAndGet());
        CompletableFuture<String> answer = new CompletableFuture<>();
        answers.put(number, answer);
        synchronized (requests) {
            requests.println(number + " " + verb + " " + session);
        }
        if (!process.isAlive()) {
            answer.complete("died");
        }
        return answer;
    }

    private void read() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                if (line.equals(RaceServer.READY)) {
                    ready.complete(line);
                } else {
                    String[] words = line.split(" ", 2);
                    CompletableFuture<String> answer = answers.remove(words[0]);
                    if (answer == null) {
                        throw new IllegalStateException("a server said: " + line);
                    }
                    answer.complete(words[1]);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            ready.completeExceptionally(new IllegalStateException("a server ended"));
            answers.values().forEach(answer -> answer.complete("died"));
        }
    }

    /** With SIGKILL, and waits until it is dead. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Lets it end in good order. */
    void end() throws InterruptedException {
        requests.close();
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            kill();
            throw new AssertionError("a server did not end");
        }
    }
}

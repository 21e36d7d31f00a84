package dev.berth.bench.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The machine that numbers are of, for who reads them elsewhere.
 *
 * @param load how many processes ran or wanted to when it began: what else the machine was busy with
 * @param versions of the programs that took part
 */
public record MachineFacts(
        LocalDate date,
        int cores,
        String processor,
        double memoryGigabytes,
        String kernel,
        double load,
        String template,
        List<String> versions) {

    public MachineFacts {
        versions = List.copyOf(versions);
    }

    public static MachineFacts here(Clock clock, String template, List<String> programs) {
        try {
            List<String> versions = new ArrayList<>();
            versions.add("Java " + Runtime.version());
            programs.forEach(program -> versions.add(version(program)));
            return new MachineFacts(
                    LocalDate.now(clock),
                    Runtime.getRuntime().availableProcessors(),
                    field(Path.of("/proc/cpuinfo"), "model name"),
                    Math.round(kilobytes(field(Path.of("/proc/meminfo"), "MemTotal")) / 1024.0 / 1024.0 * 10) / 10.0,
                    Files.readString(Path.of("/proc/sys/kernel/osrelease")).strip(),
                    Double.parseDouble(
                            Files.readString(Path.of("/proc/loadavg")).split(" ")[0]),
                    template,
                    versions);
        } catch (IOException e) {
            throw new UncheckedIOException("could not read /proc", e);
        }
    }

    /** What programs could have now without swapping. */
    public static double availableMegabytes() {
        return kilobytes(field(Path.of("/proc/meminfo"), "MemAvailable")) / 1024.0;
    }

    public String text() {
        return String.format(
                Locale.ROOT,
                "%s; %d cores (%s), %.1f GB, Linux %s, load %.2f at the start; template %s; %s",
                date,
                cores,
                processor,
                memoryGigabytes,
                kernel,
                load,
                template,
                String.join(", ", versions));
    }

    private static double kilobytes(String field) {
        return Double.parseDouble(field.replace(" kB", ""));
    }

    private static String field(Path file, String name) {
        try {
            return Files.readAllLines(file).stream()
                    .filter(line -> line.startsWith(name))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .orElse("unknown");
        } catch (IOException e) {
            throw new UncheckedIOException("could not read " + file, e);
        }
    }

    private static String version(String program) {
        try {
            Process process = new ProcessBuilder(program, "--version")
                    .redirectErrorStream(true)
                    .start();
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return output.lines().findFirst().orElse(program);
        } catch (IOException e) {
            return program + " (not installed)";
        }
    }
}

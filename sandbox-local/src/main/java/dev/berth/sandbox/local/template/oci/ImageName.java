package dev.berth.sandbox.local.template.oci;

import dev.berth.sandbox.SandboxException;
import java.util.regex.Pattern;

/**
 * What people write to mean an image: {@code debian:bookworm}, {@code ghcr.io/owner/image@sha256:…}.
 *
 * @param registry the host that has it, and its port if it is not the usual one
 * @param reference a tag or a digest
 */
public record ImageName(String registry, String repository, String reference) {
    static final String DOCKER_HUB = "docker.io";

    private static final Pattern HOST =
            Pattern.compile("(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?::[0-9]{1,5})?");
    private static final Pattern REPOSITORY =
            Pattern.compile("[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*");
    private static final Pattern TAG = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}");
    static final Pattern DIGEST = Pattern.compile("sha256:[0-9a-f]{64}");
    private static final int LONGEST = 255;

    public static ImageName parse(String text) {
        String rest = text.strip();
        String reference = "latest";
        int at = rest.indexOf('@');
        if (at >= 0) {
            reference = rest.substring(at + 1);
            rest = rest.substring(0, at);
        }
        int colon = rest.indexOf(':', rest.lastIndexOf('/') + 1);
        if (colon >= 0) {
            // beside a digest a tag is a remark
            reference = at >= 0 ? reference : rest.substring(colon + 1);
            rest = rest.substring(0, colon);
        }
        int slash = rest.indexOf('/');
        String first = slash < 0 ? "" : rest.substring(0, slash);
        boolean host = first.contains(".") || first.contains(":") || first.equals("localhost");
        String registry = host ? first : DOCKER_HUB;
        String repository = host ? rest.substring(slash + 1) : rest;
        if (registry.equals(DOCKER_HUB) && !repository.contains("/")) {
            repository = "library/" + repository;
        }
        boolean known = (at >= 0 ? DIGEST : TAG).matcher(reference).matches();
        if (!known
                || rest.length() > LONGEST
                || !HOST.matcher(registry).matches()
                || !REPOSITORY.matcher(repository).matches()) {
            throw SandboxException.invalid("'" + shortened(text)
                    + "' is not the name of an image; write one like debian:bookworm or ghcr.io/owner/image:tag");
        }
        return new ImageName(registry, repository, reference);
    }

    private static String shortened(String text) {
        String printable = text.replaceAll("\\p{Cntrl}", "?");
        return printable.length() <= 80 ? printable : printable.substring(0, 80) + "…";
    }

    @Override
    public String toString() {
        String name =
                registry.equals(DOCKER_HUB) ? repository.replaceFirst("^library/", "") : registry + "/" + repository;
        return name + (reference.startsWith("sha256:") ? "@" : ":") + reference;
    }
}

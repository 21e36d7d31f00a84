package dev.berth.conformance;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

/**
 * What node's test runner wrote down in JUnit's format.
 *
 * @param exitCode of node: it tells of failures that are no case, such as what is thrown when all cases are over
 */
record NodeReport(int exitCode, List<Case> cases) {

    /**
     * One case.
     *
     * @param file the name of the file that it is in
     * @param group the {@code describe} around it, or the file if there is none
     * @param failure why it failed
     * @param skipped why it was not run
     */
    record Case(String file, String group, String name, Optional<String> failure, Optional<String> skipped) {}

    static NodeReport read(int exitCode, Path file) throws IOException {
        List<Case> cases = new ArrayList<>();
        try {
            DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
            factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
            collect(factory.newDocumentBuilder().parse(file.toFile()).getDocumentElement(), "", cases);
        } catch (ParserConfigurationException | SAXException e) {
            throw new IOException("cannot read " + file + ", which node wrote", e);
        }
        return new NodeReport(exitCode, List.copyOf(cases));
    }

    private static void collect(Element element, String group, List<Case> cases) {
        for (Element child : children(element)) {
            String name = child.getAttribute("name");
            if (child.getTagName().equals("testsuite")) {
                collect(child, group.isEmpty() ? name : group + ": " + name, cases);
            } else if (child.getTagName().equals("testcase")) {
                // A file that cannot be run at all is a case of its own, outside of any group.
                cases.add(new Case(
                        Path.of(child.getAttribute("file"))
                                .toAbsolutePath()
                                .getFileName()
                                .toString(),
                        group.isEmpty() ? "files" : group,
                        name,
                        text(child, "failure"),
                        attribute(child, "skipped")));
            }
        }
    }

    private static List<Element> children(Element element) {
        List<Element> found = new ArrayList<>();
        for (Node child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (child instanceof Element it) {
                found.add(it);
            }
        }
        return found;
    }

    private static Optional<String> text(Element element, String tag) {
        return children(element).stream()
                .filter(it -> it.getTagName().equals(tag))
                .map(it -> it.getAttribute("message") + "\n" + it.getTextContent())
                .findFirst();
    }

    private static Optional<String> attribute(Element element, String tag) {
        return children(element).stream()
                .filter(it -> it.getTagName().equals(tag))
                .map(it -> it.getAttribute("message"))
                .findFirst();
    }
}

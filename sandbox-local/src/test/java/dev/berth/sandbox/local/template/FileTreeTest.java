package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileTreeTest {
    @TempDir
    Path dir;

    @Test
    void shiftsOwnersOnceAndKeepsTheSetUserIdBit() throws IOException {
        Path tree = Files.createDirectory(dir.resolve("tree"));
        Path tool = Files.writeString(tree.resolve("tool"), "x");
        Files.createLink(tree.resolve("same"), tool);
        Files.setAttribute(tool, "unix:gid", 42);
        Files.setAttribute(tool, "unix:mode", 04755);

        FileTree.shiftOwners(tree);
        FileTree.shiftOwners(tree);

        assertThat(attribute(tool, "uid")).isEqualTo(IdMap.BASE);
        assertThat(attribute(tool, "gid")).isEqualTo(IdMap.BASE + 42);
        assertThat(attribute(tool, "mode") & 07777).isEqualTo(04755);
        assertThat(attribute(tree, "uid")).isEqualTo(IdMap.BASE);
    }

    @Test
    void followsNoLinkWhenItShiftsOrDeletes() throws IOException {
        Path outside = Files.createDirectory(dir.resolve("outside"));
        Path file = Files.writeString(outside.resolve("file"), "x");
        Path tree = Files.createDirectory(dir.resolve("tree"));
        Files.createSymbolicLink(tree.resolve("directory"), outside);
        Files.createSymbolicLink(tree.resolve("file"), file);

        FileTree.shiftOwners(tree);
        assertThat(attribute(tree.resolve("file"), "uid")).isEqualTo(IdMap.BASE);
        assertThat(attribute(file, "uid")).isZero();
        assertThat(attribute(outside, "uid")).isZero();

        FileTree.delete(tree);
        assertThat(tree).doesNotExist();
        assertThat(file).exists();
        FileTree.delete(tree);
    }

    @Test
    void countsAFileWithSeveralNamesOnce() throws IOException {
        Path file = Files.write(dir.resolve("a"), new byte[1000]);
        Files.createLink(dir.resolve("b"), file);
        Files.write(dir.resolve("c"), new byte[10]);

        assertThat(FileTree.size(dir)).isEqualTo(1010);
    }

    @Test
    void removesAndCountsWhatIsDeeperThanAPathIsLong() throws IOException {
        Path tree = Files.createDirectory(dir.resolve("tree"));
        for (String made : new String[] {"'dd', 3000", "250 * 'd', 20"}) {
            ExternalCommand.of(List.of("python3", "-c", """
                            import os
                            name, depth = %s
                            for _ in range(depth):
                                os.mkdir(name)
                                os.chdir(name)
                            open('file', 'w').write('12345')
                            """.formatted(made)))
                    .in(tree)
                    .run(line -> {})
                    .orThrow();
        }

        assertThat(FileTree.size(tree)).isEqualTo(10);
        FileTree.deleteChildren(dir);
        assertThat(dir).isEmptyDirectory();
    }

    private static int attribute(Path path, String name) throws IOException {
        return (int) Files.getAttribute(path, "unix:" + name, LinkOption.NOFOLLOW_LINKS);
    }
}

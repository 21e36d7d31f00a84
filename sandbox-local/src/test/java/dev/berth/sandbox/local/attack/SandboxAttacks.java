package dev.berth.sandbox.local.attack;

import static dev.berth.sandbox.local.attack.Siege.bytes;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Attacks on the host and on neighbours that take more than one step, each tried as user and as root. */
interface SandboxAttacks {
    Siege siege();

    // ---- the host's network and sockets -------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(strings = {"user", "root"})
    default void reachesNoAddressOfTheHost(String user) throws IOException {
        try (ServerSocketChannel listener = ServerSocketChannel.open().bind(new InetSocketAddress("0.0.0.0", 0))) {
            listener.configureBlocking(false);
            int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
            List<String> addresses = NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .map(InetAddress::getHostAddress)
                    .map(address -> address.replaceAll("%.*", ""))
                    .toList();
            assertThat(addresses).contains("127.0.0.1");
            Result result = siege().python(user, """
                    import socket
                    for address in %s:
                        try:
                            socket.create_connection((address, %d), 1)
                            print('reached', address)
                        except OSError:
                            pass
                    """.formatted(python(addresses), port));
            assertThat(result.code()).as(result.stderr()).isZero();
            assertThat(result.stdout()).isEmpty();
            assertThat(listener.accept()).isNull();
        }
    }

    /** Java cannot bind abstract sockets, so a process of the host's python does. */
    @ParameterizedTest
    @ValueSource(strings = {"user", "root"})
    default void reachesNoAbstractSocketOfTheHost(String user) throws Exception {
        String name = "berth-attack-" + ProcessHandle.current().pid() + user;
        String knock = "import socket; socket.socket(socket.AF_UNIX).connect('\\0" + name + "')";
        Process listener = new ProcessBuilder("python3", "-c", """
                import socket, sys
                s = socket.socket(socket.AF_UNIX)
                s.bind('\\0%s')
                s.listen(9)
                print('ready', flush=True)
                sys.stdin.read()
                """.formatted(name)).start();
        try (var output = listener.inputReader(UTF_8)) {
            assertThat(output.readLine()).isEqualTo("ready");
            assertThat(new ProcessBuilder("python3", "-c", knock).start().waitFor())
                    .as("the control")
                    .isZero();
            assertThat(siege().python(user, knock).stderr()).contains("ConnectionRefusedError");
        } finally {
            listener.getOutputStream().close();
            listener.waitFor();
        }
    }

    @Test
    default void seesOnlyLoopback() {
        assertThat(siege().python("root", "import socket; print([n for _, n in socket.if_nameindex()])")
                        .stdout())
                .isIn("['lo']\n", "[]\n");
    }

    // ---- the host's processes and files ----------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(strings = {"user", "root"})
    default void signalsNoProcessOfTheHost(String user) {
        long server = ProcessHandle.current().pid();
        Result result = siege().sh(user, "kill -KILL " + server + " $(seq 300 400) 2>/dev/null; kill -STOP " + server);
        assertThat(result.stderr()).contains("No such process");
    }

    /** Under crun the kernel shields PID 1; gVisor does not shield it from root inside, who then ends his own sandbox. */
    @ParameterizedTest
    @ValueSource(strings = {"user", "root"})
    default void hurtsOnlyItselfByKilling(String user) throws IOException {
        boolean shielded = user.equals("user") || siege().runtime() != RuntimeKind.RUNSC;
        try (RunningCommand peaceful = siege().neighbour().start(Command.of("sleep", "1000"))) {
            for (String line : List.of("kill -KILL -1", "kill -TERM 1", "kill -KILL 1")) {
                Sandbox own = siege().create(Limits.DEFAULT);
                try {
                    own.run(Command.shell(line).withUser(user));
                    assertThat(own.run(Command.of("echo", "alive")).stdout()).isEqualTo("alive\n");
                } catch (SandboxException | UncheckedIOException e) {
                    assertThat(shielded).as(line + ": " + e.getMessage()).isFalse();
                    own.wake();
                    assertThat(own.run(Command.of("echo", "alive")).stdout()).isEqualTo("alive\n");
                } finally {
                    own.destroy();
                }
            }
            assertThat(peaceful.await(Duration.ofMillis(50))).isEmpty();
            peaceful.signal(Signal.KILL);
            peaceful.await();
        }
    }

    /** Root in gVisor can stop his own guest, which answers nobody then; that must not keep it from being destroyed. */
    @Test
    default void stopsAtMostItsOwnGuest() throws InterruptedException {
        Sandbox own = siege().create(Limits.DEFAULT);
        Thread stopping = Thread.ofVirtual().start(() -> {
            try {
                own.run(Command.shell("kill -STOP 1").withUser("root"));
            } catch (SandboxException | UncheckedIOException e) {
                assertThat(siege().runtime()).isEqualTo(RuntimeKind.RUNSC);
            }
        });
        boolean answered = stopping.join(Duration.ofSeconds(siege().runtime() == RuntimeKind.RUNSC ? 3 : 60));
        assertThat(answered || siege().runtime() == RuntimeKind.RUNSC).isTrue();
        own.destroy();
        stopping.join();
        assertThat(siege().sh("user", "echo alive").stdout()).isEqualTo("alive\n");
    }

    @Test
    default void seesOnlyItsOwnProcesses() {
        try (RunningCommand other = siege().neighbour().start(Command.of("sleep", "4711"))) {
            Result result = siege().sh("root", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
            assertThat(result.stdout())
                    .contains("/.berth/guest")
                    .doesNotContain("4711")
                    .doesNotContain("java");
            other.signal(Signal.KILL);
            other.await();
        }
    }

    @Test
    default void seesNoSecretsOfTheServer() throws IOException {
        String environment = siege().sh("root", "cat /proc/[0-9]*/environ /proc/self/environ | tr '\\0' '\\n'")
                .stdout();
        assertThat(environment).doesNotContain("BERTH_TOKEN");
        System.getenv().forEach((name, value) -> {
            if (value.length() > 8 && !Set.of("LANG", "PATH", "HOME", "SHELL").contains(name)) {
                assertThat(environment).doesNotContain(name + "=" + value);
            }
        });
        String shadow = Files.readString(Path.of("/etc/shadow"));
        String seen = siege().sh("root", "cat /etc/shadow").stdout();
        assertThat(seen).isNotEmpty().isNotEqualTo(shadow);
    }

    @Test
    default void seesNothingOfTheHostsHomesAndState() throws IOException {
        for (String directory : List.of("/root", "/home", "/var/lib", "/var/tmp", "/var/log", "/srv", "/mnt", "/run")) {
            String seen = siege().neighbour()
                    .run(Command.of("ls", "-A", directory).withUser("root"))
                    .stdout();
            // What the template makes, and nothing besides.
            assertThat(Set.of("user", "lock", "shm"))
                    .as(directory)
                    .containsAll(seen.lines().toList());
        }
        assertThat(siege().sh("root", "ls -d /etc/ssh /etc/sudoers.d /etc/cron.d")
                        .stdout())
                .isEmpty();
    }

    /** What stands in the devices directory is what every program expects, and what a runtime's own kernel emulates. */
    @Test
    default void seesOnlyHarmlessDevices() {
        List<String> devices = siege().sh("root", "ls /dev").stdout().lines().toList();
        assertThat(Set.of(
                        "console", "core", "fd", "full", "fuse", "mqueue", "net", "null", "ptmx", "pts", "random",
                        "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"))
                .containsAll(devices);
        if (siege().runtime() != RuntimeKind.RUNSC) {
            assertThat(devices).doesNotContain("fuse", "net");
        }
    }

    @Test
    default void leavesNoDeviceNodeForTheHostToTripOver() throws IOException {
        siege().sh("root", "mkdir -p /nodes; cd /nodes; for n in 'a c 1 1' 'b b 8 0' 'c c 0 0'; do mknod $n; done");
        assertThat(siege().hostile().files().list("/nodes", 1)).isEmpty();
    }

    /** A place that only a runtime's own kernel knows would be outside of every limit, and lost at the next stop. */
    @ParameterizedTest
    @ValueSource(strings = {"/tmp", "/var/tmp", "/home/user"})
    default void hidesNoFilesFromTheServer(String directory) throws IOException {
        siege().sh("user", "echo hidden > " + directory + "/hidden");
        assertThat(siege().hostile().files().exists(directory + "/hidden")).isTrue();
    }

    // ---- more rights ------------------------------------------------------------------------------------------------

    @Test
    default void gainsNothingBySetuidPrograms() {
        siege().sh("root", "cp /usr/bin/python3 /home/user/setuid && chmod 6755 /home/user/setuid");
        Result result = siege().hostile()
                .run(Command.of("/home/user/setuid", "-c", "import os; print(os.geteuid(), os.getegid())"));
        assertThat(result.stdout()).as(result.stderr()).isEqualTo("1000 1000\n");
    }

    @Test
    default void gainsNothingByFileCapabilities() {
        siege().python("root", """
                import os, struct, shutil
                shutil.copy('/usr/bin/python3', '/home/user/capable')
                os.chmod('/home/user/capable', 0o755)
                os.setxattr('/home/user/capable', 'security.capability',
                            struct.pack('<5I', 0x02000001, 0xffffffff, 0, 0xffffffff, 0))
                """);
        Result result = siege().hostile()
                .run(Command.of("/home/user/capable", "-c", "print(open('/proc/self/status').read())"));
        assertThat(result.stdout().lines().filter(line -> line.startsWith("CapEff")))
                .as(result.stderr())
                .containsExactly("CapEff:\t0000000000000000");
    }

    @Test
    default void makesSetuidFilesThatGiveNobodyOutsideAnything() throws IOException {
        siege().hostile().files().write("/home/user/suid", bytes("#!/bin/sh\n"), 0755);
        siege().sh("root", "chown root:root /home/user/suid; chmod 6755 /home/user/suid");
        assertThat(siege().hostile().files().stat("/home/user/suid").uid()).isZero();
        Path boxes = siege().machine().data().resolve("boxes");
        try (var found = Files.walk(boxes, 5)) {
            assertThat(found.filter(path -> path.endsWith("home/user/suid")).toList())
                    .isNotEmpty()
                    .allSatisfy(path -> assertThat((int) Files.getAttribute(path, "unix:uid"))
                            .isGreaterThan(65_536));
        }
    }

    // ---- neighbours
    // --------------------------------------------------------------------------------------------------

    @Test
    default void sharesNoFilesWithANeighbour() throws IOException {
        siege().neighbour().files().write("/home/user/private", bytes("neighbour's"));
        siege().neighbour().run(Command.shell("echo x > /tmp/private; echo x > /dev/shm/private"));
        assertThat(siege().sh("root", "ls /home/user/private /tmp/private /dev/shm/private")
                        .stdout())
                .isEmpty();
    }

    @Test
    default void sharesNoAbstractSocketWithANeighbour() throws IOException {
        String listen = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0shared'); s.listen();"
                + " print('ready', flush=True); s.accept()";
        try (RunningCommand listener = siege().neighbour().start(Command.of("python3", "-c", listen))) {
            assertThat(listener.stdout().read()).isEqualTo('r');
            assertThat(siege().python("root", "import socket; socket.socket(socket.AF_UNIX).connect('\\0shared')")
                            .stderr())
                    .contains("ConnectionRefusedError");
            listener.signal(Signal.KILL);
            listener.await();
        }
    }

    @Test
    default void sharesNoMemoryOrSemaphoresWithANeighbour() {
        String make = "import ctypes; c = ctypes.CDLL(None); "
                + "print(c.shmget(4711, 4096, 0o1666) >= 0, c.semget(4711, 1, 0o1666) >= 0)";
        String find = "import ctypes; c = ctypes.CDLL(None); "
                + "print(c.shmget(4711, 4096, 0o666) >= 0, c.semget(4711, 1, 0o666) >= 0)";
        assertThat(siege().neighbour().run(Command.of("python3", "-c", make)).stdout())
                .isEqualTo("True True\n");
        assertThat(siege().neighbour().run(Command.of("python3", "-c", find)).stdout())
                .isEqualTo("True True\n");
        assertThat(siege().python("root", find).stdout()).isEqualTo("False False\n");
    }

    // ---- what the server put inside
    // ----------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(strings = {"user", "root"})
    default void isTurnedAwayAtTheControlSocketWithoutTheToken(String user) {
        try (RunningCommand running = siege().hostile().start(Command.of("sleep", "1000"))) {
            Result result = siege().python(user, """
                    import socket, struct
                    def hello(token):
                        s = socket.socket(socket.AF_UNIX)
                        s.settimeout(20)
                        try:
                            s.connect('/.berth/link/guest.sock')
                        except PermissionError:
                            return 'denied'
                        body = struct.pack('>BIHI', 65, 0, 1, len(token)) + token + struct.pack('>I', 4) + b'boot' + struct.pack('>I', 1)
                        try:
                            s.sendall(struct.pack('>I', len(body)) + body)
                            return 'welcome' if s.recv(100) else 'closed'
                        except OSError:
                            return 'closed'
                    print({hello(t) for t in (b'', b'0', b'0' * 32, b'0' * 64, b'\\0' * 1000, b'BERTH_TOKEN')})
                    """);
            assertThat(result.stdout())
                    .as(result.stderr())
                    .isEqualTo(user.equals("root") ? "{'closed'}\n" : "{'denied'}\n");
            assertThat(running.await(Duration.ofMillis(10))).isEmpty();
            running.signal(Signal.KILL);
            assertThat(running.await().signal()).isEqualTo(9);
        }
        assertThat(siege().sh("user", "echo alive").stdout()).isEqualTo("alive\n");
    }

    @Test
    default void floodsTheControlSocketInVain() {
        try (RunningCommand running = siege().hostile().start(Command.of("cat").withStdin())) {
            Result result = siege().python("root", """
                    import socket, resource
                    held = []
                    for i in range(1000):
                        s = socket.socket(socket.AF_UNIX)
                        s.setblocking(False)
                        try:
                            s.connect('/.berth/link/guest.sock')
                        except OSError:
                            pass
                        held.append(s)
                    print('held', len(held))
                    """);
            assertThat(result.stdout()).as(result.stderr()).isEqualTo("held 1000\n");
            running.stdin().write("still here".getBytes(UTF_8));
            running.stdin().close();
            assertThat(Siege.text(running.stdout())).isEqualTo("still here");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        assertThat(siege().sh("user", "echo alive").stdout()).isEqualTo("alive\n");
    }

    /**
     * Root inside may rename the directory above the socket. The guest must not send its token to what stands there then,
     * and the server must not take the root for unmounted.
     */
    @Test
    default void doesNotGetTheTokenByRenamingTheDirectoryOfTheSocket() throws Exception {
        Sandbox own = siege().create(Limits.DEFAULT);
        try {
            List<Mounts.Mounted> mounts = mounts();
            own.run(Command.shell("mv /.berth /was; mkdir -p /.berth/link").withUser("root"));
            RunningCommand trap = own.start(Command.of("python3", "-c", """
                    import socket
                    s = socket.socket(socket.AF_UNIX)
                    s.bind('/.berth/link/guest.sock')
                    s.listen()
                    print('ready', flush=True)
                    print(s.accept()[0].recv(1000), flush=True)
                    """).withUser("root"));
            assertThat(trap.stdout().read()).isEqualTo('r');
            int id = trap.id();
            for (int i = 0; i < 10; i++) {
                own.files().exists("/etc/passwd");
            }
            assertThat(mounts()).isEqualTo(mounts);

            Sandbox again = siege().machine().reopen().find(own.id()).orElseThrow();
            assertThat(again.run(Command.of("echo", "alive")).stdout()).isEqualTo("alive\n");
            try (RunningCommand caught = again.attach(id, 0, 0)) {
                assertThat(caught.await(Duration.ofMillis(200))).as("the trap").isEmpty();
            }
        } finally {
            siege().machine().provider().find(own.id()).ifPresent(Sandbox::destroy);
        }
    }

    /** Without those of others, who may come and go. */
    private List<Mounts.Mounted> mounts() throws IOException {
        return Mounts.all().stream()
                .filter(mount -> mount.target().startsWith(siege().machine().data()))
                .toList();
    }

    /** At the next boot the runtime mounts on these places, as the host's root; links there must not lead it outside. */
    @ParameterizedTest
    @ValueSource(strings = {"/proc", "/sys", "/dev", "/.berth", "/.berth/link", "/.berth/guest"})
    default void isNotMountedOverTheHostByALinkAtAMountPoint(String place) throws IOException {
        Sandbox own = siege().create(Limits.DEFAULT);
        try {
            own.stop();
            List<Mounts.Mounted> before = mounts();
            try {
                own.files().remove(place);
            } catch (SandboxException e) {
                own.files().move(place, place + "-away");
            }
            Path link = root(own).resolve(place.substring(1));
            Files.createSymbolicLink(link, Path.of("../".repeat(12) + siege().canary()));
            try {
                own.wake();
                own.run(Command.shell("echo x > " + place + "/planted; echo x > " + siege().canary() + "/planted")
                        .withUser("root"));
            } catch (SandboxException e) {
                assertThat(e.getMessage()).isNotEmpty();
            }
            siege().assertCanaryUnharmed();
            own.stop();
            assertThat(Mounts.all())
                    .containsAll(before)
                    .noneMatch(mount -> mount.target().startsWith(siege().canary()));
        } finally {
            own.destroy();
        }
    }

    private Path root(Sandbox sandbox) throws IOException {
        sandbox.files().write("/marker-of-" + sandbox.id(), bytes("x"));
        try (var boxes = Files.list(siege().machine().data().resolve("boxes"))) {
            return boxes.map(box -> box.resolve("root"))
                    .filter(root -> Files.exists(root.resolve("marker-of-" + sandbox.id())))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static String python(List<String> strings) {
        return Arrays.toString(strings.stream().map(text -> "'" + text + "'").toArray());
    }
}

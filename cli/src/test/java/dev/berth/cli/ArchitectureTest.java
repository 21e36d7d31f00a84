package dev.berth.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The house rules that a machine can check. {@code docs/architecture.md} tells why they are. */
class ArchitectureTest {
    /**
     * Which modules may use which. A module of the same name owns the package {@code dev.berth.<name>}; those called
     * {@code sandbox-x} own {@code dev.berth.sandbox.x}, see only {@code sandbox}, and need no line here; those called
     * {@code archive-x} and {@code channel-x} own {@code dev.berth.archive.x} and {@code dev.berth.channel.x}, and share one.
     */
    private static final Map<String, Set<String>> ARROWS = Map.ofEntries(
            Map.entry("sandbox", Set.of()),
            Map.entry("egress", Set.of("sandbox")),
            Map.entry("session", Set.of("sandbox")),
            Map.entry("archive", Set.of("session", "sandbox")),
            Map.entry("tool", Set.of("session", "sandbox")),
            Map.entry("agent", Set.of("session", "sandbox")),
            Map.entry("channel", Set.of("agent", "session", "sandbox")),
            Map.entry("gateway", Set.of("egress", "tool", "agent", "channel", "session", "sandbox")),
            Map.entry("client", Set.of()),
            Map.entry("bench", Set.of("egress", "gateway", "tool", "session", "sandbox-local", "sandbox")),
            Map.entry(
                    "cli",
                    Set.of(
                            "bench",
                            "client",
                            "egress",
                            "gateway",
                            "tool",
                            "agent",
                            "channel",
                            "archive",
                            "session",
                            "sandbox-*",
                            "sandbox")));

    private static JavaClasses berth;

    @BeforeAll
    static void importClasses() {
        berth = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("dev.berth");
        assertThat(berth.contain("dev.berth.sandbox.Sandbox")).isTrue();
        assertThat(berth.contain("dev.berth.sandbox.local.LocalConfig")).isTrue();
    }

    @Test
    void modulesPointOneWay() {
        classes().should(followTheArrows()).check(berth);
    }

    @Test
    void packagesHaveNoCycles() {
        slices().matching("dev.berth.(**)").should().beFreeOfCycles().check(berth);
    }

    @Test
    void namesSayWhatThingsAre() {
        noClasses()
                .should()
                .haveSimpleNameEndingWith("Manager")
                .orShould()
                .haveSimpleNameEndingWith("Helper")
                .orShould()
                .haveSimpleNameEndingWith("Util")
                .orShould()
                .haveSimpleNameEndingWith("Utils")
                .orShould()
                .haveSimpleNameEndingWith("Impl")
                .orShould()
                .haveSimpleNameStartingWith("Abstract")
                .orShould()
                .haveNameMatching(".*[.$]Base[A-Z].*")
                .check(berth);
    }

    @Test
    void everyPackageIsNullMarked() {
        assertThat(berth.stream().map(JavaClass::getPackage).distinct())
                .allSatisfy(it -> assertThat(it.isAnnotatedWith(NullMarked.class))
                        .as(it.getName())
                        .isTrue());
    }

    @Test
    void onlyThreePackagesTalkToTheKernelBelowTheJdk() {
        noClasses()
                .that()
                .resideOutsideOfPackages("..local.linux..", "..local.files..", "..local.netlink..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("java.lang.foreign..")
                .check(berth);
    }

    @Test
    void nobodyBuildsACommandLineAsAString() {
        noClasses()
                .should()
                .callMethod(Runtime.class, "exec", String.class)
                .orShould()
                .callMethod(Runtime.class, "exec", String[].class)
                .check(berth);
    }

    @Test
    void logsGoThroughSlf4j() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAPackage("java.util.logging..")
                .check(berth);
    }

    private static ArchCondition<JavaClass> followTheArrows() {
        return new ArchCondition<>("use only the modules below theirs") {
            @Override
            public void check(JavaClass item, ConditionEvents events) {
                String from = moduleOf(item);
                for (Dependency dependency : item.getDirectDependenciesFromSelf()) {
                    JavaClass target = dependency.getTargetClass();
                    if (target.getPackageName().startsWith("dev.berth") && !mayUse(from, moduleOf(target))) {
                        events.add(SimpleConditionEvent.violated(item, dependency.getDescription()));
                    }
                }
            }
        };
    }

    private static boolean mayUse(String from, String to) {
        Set<String> allowed = from.startsWith("sandbox-") ? Set.of("sandbox") : ARROWS.getOrDefault(from, Set.of());
        return from.equals(to) || allowed.contains(to) || (to.startsWith("sandbox-") && allowed.contains("sandbox-*"));
    }

    private static String moduleOf(JavaClass type) {
        String[] parts = type.getPackageName().split("\\.");
        String name = parts.length < 3 ? "(none)" : parts[2];
        String module = name.equals("sandbox") && parts.length > 3 ? "sandbox-" + parts[3] : name;
        assertThat(module.startsWith("sandbox-") || ARROWS.containsKey(module))
                .as("the module of " + type.getName() + " has a line in ARROWS")
                .isTrue();
        return module;
    }
}

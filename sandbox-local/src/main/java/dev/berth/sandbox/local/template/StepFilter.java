package dev.berth.sandbox.local.template;

import java.util.List;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What no build step may ask of the kernel: the same as sandboxes, for the reasons that {@code guest/seccomp.c} gives, in the
 * words of the OCI runtime specification ("Seccomp"). A sandbox's guest installs its filter itself; a step has no guest, so
 * its runtime does.
 *
 * <p>A rule compares each argument once, and rules of one call are alternatives. So what a call may be given is said by
 * all that it may not. Programs of other architectures are killed. What is newer than the runtime's library is let through.
 */
final class StepFilter {
    private static final int EPERM = 1;
    private static final int ENOSYS = 38;
    private static final int EAFNOSUPPORT = 97;

    private static final List<String> FORBIDDEN = List.of(
            ("unshare setns mount umount2 pivot_root fsopen fsconfig fsmount fspick move_mount open_tree open_tree_attr"
                            + " mount_setattr open_by_handle_at name_to_handle_at bpf init_module finit_module"
                            + " delete_module create_module get_kernel_syms query_module kexec_load kexec_file_load"
                            + " perf_event_open userfaultfd kcmp lookup_dcookie keyctl add_key request_key reboot swapon"
                            + " swapoff acct quotactl quotactl_fd settimeofday clock_settime clock_adjtime adjtimex iopl"
                            + " ioperm syslog vhangup sethostname setdomainname nfsservctl uselib _sysctl ustat sysfs")
                    .split(" "));
    private static final List<String> MISSING =
            List.of("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "memfd_secret");

    /** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
    private static final long NEW_NAMESPACES = 0x7e020000L;

    /** TIOCSTI and TIOCLINUX push input into a terminal. */
    private static final List<Long> TYPING = List.of(0x5412L, 0x541CL);

    private static final int AF_UNIX = 1;
    private static final int AF_INET = 2;
    private static final int AF_INET6 = 10;
    private static final int AF_NETLINK = 16;
    /** The first number that no family had when the list was made. */
    private static final int AF_MAX = 46;

    /** PER_LINUX32 and UNAME26: what a personality may differ in. */
    private static final long HARMLESS = 0x20008;

    private static final long TOP = 0x80000000L;
    private static final long LOW_HALF = 0xffffffffL;

    private final ObjectNode filter = JsonMapper.builder().build().createObjectNode();
    private final ArrayNode rules;

    private StepFilter() {
        filter.put("defaultAction", "SCMP_ACT_ALLOW");
        rules = filter.putArray("syscalls");
    }

    static ObjectNode make() {
        StepFilter made = new StepFilter();
        FORBIDDEN.forEach(call -> made.rule(call, EPERM));
        MISSING.forEach(call -> made.rule(call, ENOSYS));
        made.namespaces();
        TYPING.forEach(code -> masked(made.rule("ioctl", EPERM), 1, LOW_HALF, code));
        made.families();
        made.personalities();
        return made.filter;
    }

    private void namespaces() {
        for (long flag = 1; flag <= NEW_NAMESPACES; flag <<= 1) {
            if ((NEW_NAMESPACES & flag) != 0) {
                masked(rule("clone", EPERM), 0, flag, flag);
            }
        }
    }

    /** Netlink only for routes and addresses, and pairs only of Unix sockets. */
    private void families() {
        for (int family = AF_INET + 1; family < AF_MAX; family++) {
            if (family != AF_INET6 && family != AF_NETLINK) {
                compared(rule("socket", EAFNOSUPPORT), 0, family, "SCMP_CMP_EQ");
            }
        }
        compared(rule("socket", EAFNOSUPPORT), 0, AF_MAX, "SCMP_CMP_GE");
        ArrayNode netlink = rule("socket", EAFNOSUPPORT);
        compared(netlink, 0, AF_NETLINK, "SCMP_CMP_EQ");
        compared(netlink, 2, 0, "SCMP_CMP_NE");
        compared(rule("socketpair", EAFNOSUPPORT), 0, AF_UNIX, "SCMP_CMP_NE");
    }

    /** All ones only asks; everything else with the top bit, or with another bit than these, is refused. */
    private void personalities() {
        for (long bit = 1; bit < TOP; bit <<= 1) {
            masked(rule("personality", EPERM), 0, TOP | bit, TOP);
            if ((HARMLESS & bit) == 0) {
                masked(rule("personality", EPERM), 0, TOP | bit, bit);
            }
        }
    }

    /** Gives the comparisons of a new rule, which all have to hold. */
    private ArrayNode rule(String call, int error) {
        ObjectNode rule = rules.addObject().put("action", "SCMP_ACT_ERRNO").put("errnoRet", error);
        rule.putArray("names").add(call);
        return rule.putArray("args");
    }

    private static void compared(ArrayNode arguments, int index, long value, String how) {
        arguments.addObject().put("index", index).put("value", value).put("op", how);
    }

    private static void masked(ArrayNode arguments, int index, long mask, long value) {
        arguments
                .addObject()
                .put("index", index)
                .put("value", mask)
                .put("valueTwo", value)
                .put("op", "SCMP_CMP_MASKED_EQ");
    }
}

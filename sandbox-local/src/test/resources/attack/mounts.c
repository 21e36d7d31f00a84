/* The mount table, by the old calls and by the new ones. */
#include "attack.h"

#include <sys/mount.h>
#include <sys/stat.h>

static int attach_new_tmpfs(const struct attack *self)
{
	long fs = syscall(SYS_fsopen, "tmpfs", 0);
	long mount;

	(void)self;
	if (fs < 0)
		return errno;
	if (syscall(SYS_fsconfig, fs, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0) < 0)
		return errno;
	mount = syscall(SYS_fsmount, fs, 0, 0);
	return mount < 0 ? errno : result(syscall(SYS_move_mount, mount, "", AT_FDCWD, "/tmp", 4));
}

#define MOUNT(what, source, target, type, flags, data) \
	{ what, NULL, SYS_mount, { P(source), P(target), P(type), flags, P(data) }, { 0 } }
#define UNMOUNT(target) { "unmounts " target, NULL, SYS_umount2, { P(target), MNT_DETACH }, { 0 } }

static const uint64_t writable[4] = { 0, 1 /* MOUNT_ATTR_RDONLY, to clear */, 0, 0 };

const struct attack MOUNTS[] = {
	MOUNT("mounts a fresh proc", "proc", "/tmp", "proc", 0, NULL),
	MOUNT("mounts a tmpfs", "tmpfs", "/tmp", "tmpfs", 0, NULL),
	MOUNT("mounts sysfs", "sysfs", "/tmp", "sysfs", 0, NULL),
	MOUNT("mounts cgroup v1 to set a release agent", "cgroup", "/tmp", "cgroup", 0, "memory"),
	MOUNT("mounts cgroup v2", "cgroup2", "/tmp", "cgroup2", 0, NULL),
	MOUNT("mounts devtmpfs", "devtmpfs", "/tmp", "devtmpfs", 0, NULL),
	MOUNT("mounts debugfs", "debugfs", "/tmp", "debugfs", 0, NULL),
	MOUNT("mounts securityfs", "securityfs", "/tmp", "securityfs", 0, NULL),
	MOUNT("mounts bpffs", "bpf", "/tmp", "bpf", 0, NULL),
	MOUNT("mounts binfmt_misc", "binfmt_misc", "/tmp", "binfmt_misc", 0, NULL),
	MOUNT("mounts an overlay", "overlay", "/tmp", "overlay", 0, "lowerdir=/usr:/etc"),
	MOUNT("mounts a disk", "/dev/sda1", "/tmp", "ext4", 0, NULL),
	MOUNT("binds / over a directory", "/", "/tmp", NULL, MS_BIND | MS_REC, NULL),
	MOUNT("binds a file over the guest", "/etc/passwd", "/.berth/guest", NULL, MS_BIND, NULL),
	MOUNT("makes /usr writable by a remount", NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL),
	MOUNT("makes /sys writable by a remount", NULL, "/sys", NULL, MS_REMOUNT, NULL),
	MOUNT("makes /proc/sys writable by a remount", NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL),
	MOUNT("makes the guest writable by a remount", NULL, "/.berth/guest", NULL, MS_REMOUNT | MS_BIND, NULL),
	MOUNT("allows setuid on / by a remount", NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL),
	MOUNT("shares its mounts with the host", NULL, "/", NULL, MS_SHARED | MS_REC, NULL),
	MOUNT("moves /proc away", "/proc", "/tmp", NULL, MS_MOVE, NULL),
	UNMOUNT("/proc"), UNMOUNT("/proc/kcore"), UNMOUNT("/proc/sys"), UNMOUNT("/usr"), UNMOUNT("/.berth/guest"), UNMOUNT("/.berth/link"),
	{ "pivots its root", NULL, SYS_pivot_root, { P("."), P(".") }, { 0 } },
	{ "opens a new filesystem by fsopen", NULL, SYS_fsopen, { P("proc"), 0 }, { 0 } },
	{ "attaches a new tmpfs by move_mount", attach_new_tmpfs, 0, { 0 }, { 0 } },
	{ "clones the mount tree by open_tree", NULL, SYS_open_tree, { AT_FDCWD, P("/"), 1 | AT_RECURSIVE }, { 0 } },
	{ "clones the mount tree by open_tree_attr", NULL, 467, { AT_FDCWD, P("/"), 1 | AT_RECURSIVE, 0, 0 }, { 0 } },
	{ "picks the root filesystem by fspick", NULL, SYS_fspick, { AT_FDCWD, P("/"), 0 }, { 0 } },
	{ "makes /usr writable by mount_setattr", NULL, SYS_mount_setattr, { AT_FDCWD, P("/usr"), 0, P(writable), sizeof writable }, { 0 } },
	END,
};

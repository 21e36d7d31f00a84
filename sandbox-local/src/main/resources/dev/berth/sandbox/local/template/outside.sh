# Runs in a mount and pid namespace of its own (ExternalCommand.confined), in the directory of the layers, so that
# layers have short relative names and nothing that is mounted here outlives the namespace.
#   outside.sh run OVERLAY-OPTIONS SCRATCH BUNDLE     the OCI bundle, with the overlay at /mnt/root
#   outside.sh flatten OVERLAY-OPTIONS TARGET         copies what the overlay shows
set -eu
verb=$1 options=$2
# libmount's newer way of mounting takes at most 256 characters of an option
export LIBMOUNT_FORCE_MOUNT2=always
# a tmpfs, since root in the bundle's user namespace may not walk through private directories of the host
mount -t tmpfs -o mode=755 berth /mnt
mkdir /mnt/root /mnt/scratch /mnt/state
mount -t overlay -o "$options" berth /mnt/root
case $verb in
run)
  mount --bind "$3" /mnt/scratch
  # crun takes a hybrid cgroup layout for a broken one
  umount /sys/fs/cgroup/unified 2>/dev/null || true
  cd /
  exec crun --cgroup-manager=disabled --root /mnt/state run --bundle "$4" step
  ;;
flatten)
  exec cp -a --reflink=auto /mnt/root/. "$3"
  ;;
esac

# Runs as root of the template that is being built.
#   inside.sh run USER COMMAND
#   inside.sh package NAME...
#   inside.sh copy USER NAME TARGET     what /run/berth-build/copy has by this name
#   inside.sh unpack OWNER NAME TARGET MODE   as copy, for what was made of an archive
#   inside.sh workdir USER PATH
#   inside.sh user NAME                 makes a user unless there is one
#   inside.sh ready USER WORKDIR SECONDS READY START    starts START, and waits until READY ends with 0
set -eu

as() {
  user=$1
  shift
  [ "$user" = root ] && { "$@"; return; }
  setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups -- "$@"
}

known() {
  id -u "$1" >/dev/null 2>&1 || {
    echo "there is no user '$1' in this template; make one first, with 'run useradd --create-home $1'"
    exit 1
  }
}

known_or_root() { # who makes the directories above what is copied: a number has no account
  id -u "$1" >/dev/null 2>&1 || user=root
}

directory() { # of the user where the user may make it, else of root
  as "$1" mkdir -p -- "$2" 2>/dev/null || mkdir -p -- "$2"
}

# what runs here is given its network first
[ ! -p /run/berth-build/gate/go ] || read -r _ </run/berth-build/gate/go

verb=$1
shift
case $verb in
run)
  known "$1"
  [ -n "$HOME" ] || HOME=$(getent passwd "$1" | cut -d: -f6)
  export USER="$1" LOGNAME="$1"
  [ "$1" = root ] && exec /bin/bash -c "$2"
  exec setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups -- /bin/bash -c "$2"
  ;;
package)
  command -v apt-get >/dev/null && [ -d /var/lib/dpkg ] || {
    echo "this template has no packages of its own; use 'from base' or 'from debian:bookworm'"
    exit 1
  }
  export DEBIAN_FRONTEND=noninteractive HOME=/root
  list=/run/berth-sources.list
  touch /etc/apt/sources.list
  sed -e "s|http://deb.debian.org/debian-security |$BERTH_SECURITY |" -e "s|http://deb.debian.org/debian |$BERTH_MAIN |" \
    /etc/apt/sources.list >$list
  apt-get -o Dir::Etc::sourcelist=$list -o Acquire::Languages=none -o Acquire::Retries=3 update
  apt-get -o Dir::Etc::sourcelist=$list -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io \
    install --yes --no-install-recommends -- "$@"
  rm -rf /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
  ;;
copy)
  known "$1"
  from=/run/berth-build/copy/$2
  chown -R -h "$(id -u "$1"):$(id -g "$1")" "$from"
  if [ -d "$from" ] && [ ! -L "$from" ]; then
    directory "$1" "$3"
    find "$from" -mindepth 1 -maxdepth 1 -exec cp -a -t "$3" -- {} +
  else
    case $3 in
    */) directory "$1" "$3" ;;
    *) directory "$1" "$(dirname -- "$3")" ;;
    esac
    cp -a -- "$from" "$3"
  fi
  ;;
unpack)
  user=${1%%:*}
  from=/run/berth-build/copy/$2 target=$3 mode=$4
  case $1 in
  *:*) owner=$1 ;;
  *)
    known "$user"
    owner=$(id -u "$user"):$(id -g "$user")
    ;;
  esac
  [ -e "$from" ] || [ -L "$from" ] || {
    echo "there is no '${2#content/}' among the files that were sent"
    exit 1
  }
  chown -R -h "$owner" "$from"
  if [ -d "$from" ] && [ ! -L "$from" ]; then
    # modes are given while it is here: what it becomes part of has its own
    [ -z "$mode" ] || find "$from" -mindepth 1 ! -type l -exec chmod "$mode" {} +
    known_or_root "$user"
    directory "$user" "$target"
    find "$from" -mindepth 1 -maxdepth 1 -exec cp -a -t "$target" -- {} +
  else
    [ -z "$mode" ] || [ -L "$from" ] || chmod "$mode" "$from"
    known_or_root "$user"
    case $target in
    */) directory "$user" "$target" ;;
    *) directory "$user" "$(dirname -- "$target")" ;;
    esac
    cp -a -- "$from" "$target"
  fi
  ;;
user)
  id -u "$1" >/dev/null 2>&1 && exit 0
  if command -v useradd >/dev/null; then
    useradd --create-home --shell /bin/bash -- "$1"
  elif command -v adduser >/dev/null; then
    adduser -D -s /bin/bash "$1"
  else
    echo "there is no user '$1' in this template, and no useradd to make one with"
    exit 1
  fi
  ;;
ready)
  known "$1"
  user=$1 dir=$2 patience=$3 ready=$4 start=$5
  cd "$dir"
  HOME=$(getent passwd "$user" | cut -d: -f6) || HOME=/
  export HOME USER="$user" LOGNAME="$user"
  [ -z "$start" ] || as "$user" /bin/bash -c "$start" </dev/null &
  deadline=$((SECONDS + patience))
  while true; do
    left=$((deadline - SECONDS))
    [ "$left" -gt 0 ] || exit 124
    as "$user" timeout "$left" /bin/bash -c "$ready" </dev/null && exit 0
    sleep 0.5
  done
  ;;
workdir)
  known "$1"
  directory "$1" "$2"
  ;;
esac

# Runs as root of the template that is being built.
#   inside.sh run USER COMMAND
#   inside.sh package NAME...
#   inside.sh copy USER NAME TARGET     what /run/berth-build/copy has by this name
#   inside.sh workdir USER PATH
set -eu

as() {
  user=$1
  shift
  setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups -- "$@"
}

known() {
  id -u "$1" >/dev/null 2>&1 || {
    echo "there is no user '$1' in this template; make one first, with 'run useradd --create-home $1'"
    exit 1
  }
}

directory() { # of the user where the user may make it, else of root
  as "$1" mkdir -p -- "$2" 2>/dev/null || mkdir -p -- "$2"
}

verb=$1
shift
case $verb in
run)
  known "$1"
  [ -n "${HOME-}" ] || HOME=$(getent passwd "$1" | cut -d: -f6)
  export HOME USER="$1" LOGNAME="$1"
  [ "$1" = root ] && exec /bin/bash -c "$2"
  exec setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups -- /bin/bash -c "$2"
  ;;
package)
  command -v apt-get >/dev/null && [ -d /var/lib/dpkg ] || {
    echo "this template has no packages of its own; use 'from base' or 'from debian:bookworm'"
    exit 1
  }
  export DEBIAN_FRONTEND=noninteractive
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
workdir)
  known "$1"
  directory "$1" "$2"
  ;;
esac

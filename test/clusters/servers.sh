# What both clusters need: servers of this distribution's packages, as the user postgres, on the loopback interface.
set -euo pipefail

# Only the addresses that `up` prints go there.
exec 3>&1 >&2

fail() {
  echo "$name: $1"
  exit 1
}

name=$(basename "$0" .sh)
[[ $# == 2 && $1 =~ ^(up|down)$ && -d $2 ]] || fail "usage: $0 up FOLDER | down FOLDER"
command=$1
folder=$(realpath "$2")/$name

# PostgreSQL and other packages, without the services that they bring. PostgreSQL is updated if it is there: an extension
# may not load into an older release of its version.
packages() {
  apt-get update
  version=$(apt-cache depends postgresql | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p')
  SYSTEMD_OFFLINE=1 DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "postgresql-$version" "$@"
  bin=/usr/lib/postgresql/$version/bin
}

# The folder of the servers, which get these ports.
prepare() {
  local port
  for port; do
    ! (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null || fail "port $port is taken"
  done
  [[ ! -e $folder ]] || fail "$folder is there already"
  chmod a+x "${folder%/*}"
  install --directory --owner=postgres "$folder"
  cd "$folder"
}

as_postgres() {
  setpriv --reuid=postgres --regid=postgres --init-groups --reset-env -- "$@" 3>&-
}

# Runs a statement on the server at a port.
query() {
  "$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U postgres -c "$2"
}

# Those that run in the folder, whoever has started them: the tests kill servers and start them again.
processes() {
  local process
  for process in /proc/[0-9]*; do
    [[ $(readlink "$process/cwd")/ != "$folder"/* ]] || echo "${process#/proc/}"
  done
}

down() {
  local pid signal
  for pid in $(processes); do
    # PostgreSQL removes its shared memory. Nothing else, Patroni above all, gets the time to react.
    signal=KILL
    [[ $(cat "/proc/$pid/comm") != postgres ]] || signal=QUIT
    kill -s "$signal" "$pid" && kill -s CONT "$pid" || true
  done 2> /dev/null
  while [[ -n $(processes) ]]; do sleep 0.1; done
  rm -rf "$folder"
}

#!/usr/bin/env bash
# A Citus cluster on this machine: a coordinator at the port 23401, and two workers at 23402 and 23403.
#
# usage: test/clusters/citus.sh up FOLDER | down FOLDER
#
# `up` needs root. It starts the servers in FOLDER/citus and prints their address as CITUS_URL=... The extension is in no
# package of Debian's: it comes from its container image if an engine has that or can pull it, else from CITUS_ARCHIVE, a
# tar file whose members begin with usr/lib/postgresql. `down` ends all of it and removes the folder.
source "${BASH_SOURCE%/*}/servers.sh"

readonly CITUS=13.0.3 COORDINATOR=23401 WORKERS=(23402 23403)

extension() {
  [[ ! -e /usr/lib/postgresql/$version/lib/citus.so ]] || return 0
  local image=citusdata/citus:$CITUS-pg$version container path
  if container=$(docker create "$image"); then
    for path in "usr/lib/postgresql/$version/lib" "usr/share/postgresql/$version/extension"; do
      docker cp "$container:/$path" - | tar -x --wildcards -C "/${path%/*}" "${path##*/}/citus*"
    done
    docker rm "$container"
  elif [[ -n ${CITUS_ARCHIVE:-} ]]; then
    tar -x -f "$CITUS_ARCHIVE" -C /
  else
    fail "no container engine that has $image or can pull it, and no CITUS_ARCHIVE"
  fi
  [[ -e /usr/lib/postgresql/$version/lib/citus.so ]] || fail "it has no Citus for PostgreSQL $version"
}

up() {
  # That of the image needs libcurl.
  packages curl
  extension
  prepare "$COORDINATOR" "${WORKERS[@]}"
  local port
  for port in "$COORDINATOR" "${WORKERS[@]}"; do
    as_postgres "$bin/initdb" -D "$port" -U postgres -A trust -E UTF8 --locale=C.UTF-8
    cat >> "$port/postgresql.conf" <<END
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus'
max_connections = 300
END
    as_postgres "$bin/pg_ctl" -D "$folder/$port" -l "$folder/$port.log" -w start
    query "$port" 'create extension citus'
  done
  query "$COORDINATOR" "select citus_set_coordinator_host('127.0.0.1', $COORDINATOR)"
  for port in "${WORKERS[@]}"; do query "$COORDINATOR" "select citus_add_node('127.0.0.1', $port)"; done
  echo "CITUS_URL=postgres://postgres@127.0.0.1:$COORDINATOR/postgres" >&3
}

"$command"

#!/usr/bin/env bash
# A Patroni cluster on this machine, as deploy/patroni sets it up: PostgreSQL at the ports 23411 to 23413, their
# Patronis' REST API at 23421 to 23423, etcd at 23479, and HAProxy at 23410, which leads to the primary.
#
# usage: test/clusters/patroni.sh up FOLDER | down FOLDER
#
# `up` needs root. It starts all of that in FOLDER/patroni, and prints the addresses as PATRONI_URL=..., PATRONI_API=...
# and ETCD_URL=... once a standby is synchronous. `down` ends it and removes the folder.
source "${BASH_SOURCE%/*}/servers.sh"

readonly SETTINGS=$(realpath "${BASH_SOURCE%/*}/../../deploy/patroni")
readonly ADDRESS=127.0.0.1 NODES=(1 2 3)

node() {
  cat <<END
scope: plants
name: node$1
restapi: { listen: '$ADDRESS:2342$1', connect_address: '$ADDRESS:2342$1' }
etcd: { host: '$ADDRESS:23479' }
bootstrap:
  dcs:
$(sed "s/^/    /; s/wal_log_hints: [^ ]*/&, max_connections: 200/" "$SETTINGS/settings.yaml")
  initdb: [{ encoding: UTF8 }, { locale: C.UTF-8 }]
postgresql:
  listen: $ADDRESS:2341$1
  connect_address: $ADDRESS:2341$1
  data_dir: $folder/node$1
  bin_dir: $bin
  pgpass: $folder/pgpass$1
  authentication:
    superuser: { username: postgres, password: postgres }
    replication: { username: replicator, password: replicator }
  parameters: { unix_socket_directories: '' }
  pg_hba: ['host all all $ADDRESS/32 trust', 'host replication all $ADDRESS/32 trust']
END
}

proxy() {
  sed "s/bind :5432/bind $ADDRESS:23410/; /^ *server /d" "$SETTINGS/haproxy.cfg"
  local n
  for n in "${NODES[@]}"; do echo "    server node$n $ADDRESS:2341$n check port 2342$n"; done
}

# In the background, with a log of this name.
start() {
  as_postgres setsid --fork "${@:2}" < /dev/null >> "$1.log" 2>&1
}

up() {
  packages patroni python3-etcd etcd-server haproxy curl
  prepare 23410 2341{1,2,3} 2342{1,2,3} 23479 23480
  # With etcd's v3 API, Patroni 3.0.2 takes back the lock of the leader unasked (docs/clusters.md).
  start etcd etcd --enable-v2=true --data-dir "$folder/etcd" --log-level error --name plants \
    --listen-client-urls "http://$ADDRESS:23479" --advertise-client-urls "http://$ADDRESS:23479" \
    --listen-peer-urls "http://$ADDRESS:23480" --initial-advertise-peer-urls "http://$ADDRESS:23480" \
    --initial-cluster "plants=http://$ADDRESS:23480"
  local n
  for n in "${NODES[@]}"; do
    node "$n" > "node$n.yaml"
    start "node$n" patroni "$folder/node$n.yaml"
  done
  proxy > haproxy.cfg
  start haproxy /usr/sbin/haproxy -db -f "$folder/haproxy.cfg"
  local end=$((SECONDS + 180))
  until curl --silent "http://$ADDRESS:23421/cluster" | grep -q sync_standby && query 23410 'select'; do
    ((SECONDS < end)) || fail "no synchronous standby: see $folder/*.log"
    sleep 1
  done
  printf '%s\n' "PATRONI_URL=postgres://postgres@$ADDRESS:23410/postgres" "PATRONI_API=http://$ADDRESS:23421" \
    "ETCD_URL=http://$ADDRESS:23479" >&3
}

"$command"

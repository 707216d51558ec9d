#!/bin/sh
# Prints all plants, or the one with an id, as lines of JSON that `npm run import` takes, with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
#   examples/read-plants.sh
#   examples/read-plants.sh 9223372036854775807
. "$(dirname "$0")/service.sh"

remedy_of() {
  case $1 in
    40022 | 40401 | 41000) echo 'check the id' ;;
  esac
}

[ $# -eq 0 ] || { [ $# -eq 1 ] && is_id "$1"; } || fail "usage: $0 [ID]" 2
connect

if [ $# -eq 1 ]; then
  send GET "/plants/$1"
  [ "$status" = 200 ] || refused
  print_body
  exit
fi

query='?limit=1000'
while [ "$query" ]; do
  send GET "/plants$query" --header 'Accept: application/x-ndjson'
  [ "$status" = 200 ] || refused
  cat "$response/body"
  # The last page has no link to another.
  query=$(header link | sed 's/^<\(.*\)>; rel="next"$/\1/')
done

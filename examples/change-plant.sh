#!/bin/sh
# Changes a plant to the name and tag that are given as JSON, or deletes it, with curl. Prints what it is then, or was. If
# somebody else changes the plant at the same time, it does nothing, and says what they have made of it:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
#   examples/change-plant.sh 9223372036854775807 '{"name":"Pinus longaeva","tag":"conifer"}'
#   examples/change-plant.sh 9223372036854775807 --delete
. "$(dirname "$0")/service.sh"

remedy_of() {
  case $1 in
    40013 | 40022) echo 'fix the id or the plant' ;;
    40401 | 41000) echo 'check the id' ;;
  esac
}

usage="usage: $0 ID '{\"name\":TEXT,\"tag\":TEXT}'  (without the tag if it has none), or $0 ID --delete"
[ $# -eq 2 ] && is_id "$1" || fail "$usage" 2
case $2 in
  --delete | *{*) ;;
  *) fail "$usage" 2 ;;
esac
connect

find() {
  send GET "/plants/$1"
  [ "$status" = 200 ] || refused
}

find "$1"
etag=$(header etag)
[ "$etag" ] || not_plant_store
before=$(cat "$response/body")
if [ "$2" = --delete ]; then
  send DELETE "/plants/$1" --header "If-Match: $etag"
else
  send PUT "/plants/$1" --header "If-Match: $etag" --header 'Content-Type: application/json' --data-raw "$2"
fi
case $status in
  200) print_body ;;
  204) printf '%s\n' "$before" ;;
  412)
    find "$1"
    fail "somebody else has changed it meanwhile, to $(cat "$response/body"): if you still want to, do it again" ;;
  *) refused ;;
esac

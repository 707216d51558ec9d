#!/bin/sh
# Prints all plants, the one with an id, or those with a text in their names, as lines of JSON that `npm run import` takes,
# with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
#   examples/read-plants.sh
#   examples/read-plants.sh 9223372036854775807
#   examples/read-plants.sh --name=rosa
. "$(dirname "$0")/service.sh"

remedy_of() {
  case $1 in
    40022) echo 'check the id or the text' ;;
    40401 | 41000) echo 'check the id' ;;
  esac
}

id='' name=''
case $#${1-} in
  0) ;;
  1--name=?*) name=${1#*=} ;;
  *) [ $# -eq 1 ] && is_id "$1" && id=$1 || fail "usage: $0 [ID | --name=TEXT]" 2 ;;
esac
connect

if [ "$id" ]; then
  send GET "/plants/$id"
  [ "$status" = 200 ] || refused
  print_body
  exit
fi

query='?limit=1000'
# An empty name is as none.
set -- --get --data-urlencode "name=$name"
while [ "$query" ]; do
  send GET "/plants$query" --header 'Accept: application/x-ndjson' "$@"
  [ "$status" = 200 ] || refused
  cat "$response/body"
  # The link has the name. The last page has no link to another.
  set --
  query=$(header link | sed 's/^<\(.*\)>; rel="next"$/\1/')
done

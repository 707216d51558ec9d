#!/bin/sh
# Creates a plant, given as JSON, with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
#   examples/create-plant.sh '{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}'
. "$(dirname "$0")/service.sh"

remedy_of() {
  case $1 in
    40009 | 40010) echo 'give it another id' ;;
    40013 | 40022) echo 'fix the plant' ;;
  esac
}

case "$# ${1-}" in
  '1 '*{*) ;;
  *) fail "usage: $0 '{\"id\":NUMBER,\"name\":TEXT,\"tag\":TEXT}'  (without the tag if it has none)" 2 ;;
esac
connect
send POST /plants --header 'Content-Type: application/json' --data-raw "$1"
[ "$status" = 200 ] || refused
print_body

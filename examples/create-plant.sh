#!/bin/sh
# Creates a plant with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
#   examples/create-plant.sh 9223372036854775807 'Pinus longaeva' conifer
. "$(dirname "$0")/service.sh"

remedy_of() {
  case $1 in
    40009 | 40010) echo 'give it another id' ;;
    40013 | 40022) echo 'fix the plant' ;;
  esac
}

{ [ $# -eq 2 ] || [ $# -eq 3 ]; } && is_id "$1" || fail "usage: $0 ID NAME [TAG]" 2
plant="{\"id\":$1,\"name\":$(json_text "$2")"
[ $# -eq 2 ] || plant="$plant,\"tag\":$(json_text "$3")"
connect
printf '%s}' "$plant" > "$response/request"
send POST /plants --header 'Content-Type: application/json' --data-binary "@$response/request"
[ "$status" = 200 ] || refused
print_body

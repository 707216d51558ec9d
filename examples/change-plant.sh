#!/bin/sh
# Changes the name or the tag of a plant and keeps the other, or deletes it, with curl. Prints what it is then, or was. If
# somebody else changes the plant at the same time, it says so and does the same to what they have made of it:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
#   examples/change-plant.sh 9223372036854775807 --name='Pinus longaeva' --tag=conifer
#   examples/change-plant.sh 9223372036854775807 --no-tag
#   examples/change-plant.sh 9223372036854775807 --delete
. "$(dirname "$0")/service.sh"

remedy_of() {
  case $1 in
    40013 | 40022) echo 'fix the id or the plant' ;;
    40401 | 41000) echo 'check the id' ;;
    41200) echo 'do it again' ;;
  esac
}

usage="usage: $0 ID [--name=NAME] [--tag=TAG | --no-tag], or $0 ID --delete"
[ $# -ge 2 ] && is_id "$1" || fail "$usage" 2
id=$1
shift
new_name='' new_tag='' no_tag='' delete=''
for option; do
  case $option in
    --name=*) new_name=$(json_text "${option#*=}") ;;
    --tag=*) new_tag=$(json_text "${option#*=}") ;;
    --no-tag) no_tag=yes ;;
    --delete) delete=yes ;;
    *) fail "$usage" 2 ;;
  esac
done
case "${delete:+delete }${new_name:+name }${new_tag:+tag }$no_tag" in
  'delete '?* | *'tag yes') fail "$usage" 2 ;;
esac

# The plant that is given as the service's JSON, without its id and with what is new. A quote within a text has a backslash
# before it, so that ,"tag": can be no part of one.
changed() {
  name=${new_name:-$(printf '%s\n' "$1" | LC_ALL=C sed 's/^{"id":[^,]*,"name"://; s/,"tag":.*//; s/}$//')}
  tag=${new_tag:-$(printf '%s\n' "$1" | LC_ALL=C sed -n 's/.*,"tag":\(.*\)}$/\1/p')}
  if [ "$no_tag" ] || [ -z "$tag" ]; then
    printf '{"name":%s}' "$name"
  else
    printf '{"name":%s,"tag":%s}' "$name" "$tag"
  fi
}

connect
for attempt in 1 2 3 4 5; do
  send GET "/plants/$id"
  [ "$status" = 200 ] || refused
  etag=$(header etag)
  [ "$etag" ] || not_plant_store
  before=$(cat "$response/body")
  if [ "$delete" ]; then
    send DELETE "/plants/$id" --header "If-Match: $etag"
  else
    changed "$before" > "$response/request"
    send PUT "/plants/$id" --header "If-Match: $etag" --header 'Content-Type: application/json' \
      --data-binary "@$response/request"
  fi
  [ "$status" = 412 ] && [ "$attempt" -lt 5 ] || break
  echo 'somebody else has changed it meanwhile: trying again with what it is now' >&2
done
case $status in
  200) print_body ;;
  204) printf '%s\n' "$before" ;;
  *) refused ;;
esac

#!/bin/sh
# Creates a plant, given as JSON, with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
#   examples/create-plant.sh '{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}'
set -eu

fail() {
  echo "$1" >&2
  exit "${2-1}"
}

url=${PLANT_STORE_URL-http://127.0.0.1:3000}
case "$# ${1-}" in
  '1 '*{*) ;;
  *) fail "usage: $0 '{\"id\":NUMBER,\"name\":TEXT,\"tag\":TEXT}'  (without the tag if it has none)" 2 ;;
esac
case ${ACCESS_TOKEN-} in
  '' | *[![:graph:]]*)
    fail 'ACCESS_TOKEN must be a token of the service; one that the service made itself is in data/access-token' ;;
esac

response=$(mktemp -d)
trap 'rm -r "$response"' EXIT

# After a 408, 500 or 503 curl sends it again by itself, when Retry-After says, which is safe. The token comes on stdin,
# since everybody on the machine can read a command's arguments.
status=$(
  curl --silent --show-error --retry 2 --max-time 60 --output "$response/body" --dump-header "$response/headers" \
    --write-out '%{http_code}' --header @- --header 'Content-Type: application/json' --data-raw "$1" \
    "$url/plants" 2> "$response/problem" <<END
Authorization: Bearer $ACCESS_TOKEN
END
) || fail "cannot reach $url ($(head -n 1 "$response/problem")): is the service running there?"

if [ "$status" = 200 ]; then
  cat "$response/body"
  echo
  exit
fi

error=$(sed 's/^{"error":\([0-9]*\),.*/\1/' "$response/body")
message=$(sed 's/.*"message":"\(.*\)"}$/\1/' "$response/body")
request=$(sed -n 's/^X-Request-Id: \([^\r]*\).*/\1/p' "$response/headers" | tail -n 1)
case $error in
  40800 | 50300) remedy='send it again' ;;
  40009 | 40010) remedy='give it another id' ;;
  40013 | 40022) remedy='fix the plant' ;;
  40100 | 40101 | 40300) remedy='get a token' ;;
  50000) remedy='report it' ;;
  # What stands in front of the service has errors of its own.
  '' | *[!0-9]*) fail "$url does not respond as Plant Store does: is that its address?" ;;
  *) remedy='fix this program' ;;
esac
fail "$error: $message ($remedy; request $request)"

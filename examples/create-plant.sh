#!/bin/sh
# Creates a plant, given as JSON, with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
#   examples/create-plant.sh '{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}'
set -eu

answer=$(mktemp -d)
trap 'rm -r "$answer"' EXIT

# After a 408, 500 or 503 curl sends it again by itself, when Retry-After says, which is safe. The token comes on stdin,
# since everybody on the machine can read a command's arguments.
status=$(
  curl --silent --show-error --retry 2 --output "$answer/body" --dump-header "$answer/headers" --write-out '%{http_code}' \
    --header @- --header 'Content-Type: application/json' --data-binary "$1" \
    "${PLANT_STORE_URL-http://127.0.0.1:3000}/plants" <<END
Authorization: Bearer ${ACCESS_TOKEN-}
END
)

if [ "$status" = 200 ]; then
  cat "$answer/body"
  echo
  exit
fi

error=$(sed 's/^{"error":\([0-9]*\),.*/\1/' "$answer/body")
message=$(sed 's/.*"message":"\(.*\)"}$/\1/' "$answer/body")
request=$(sed -n 's/^X-Request-Id: \([^\r]*\).*/\1/p' "$answer/headers" | tail -n 1)
case $error in
  40800 | 50300) remedy='send it again' ;;
  40009) remedy='give it another id' ;;
  40013 | 40022) remedy='mend the plant' ;;
  40100 | 40101) remedy='get a token' ;;
  50000) remedy='report it' ;;
  *) remedy='mend this program' ;;
esac
echo "$error: $message ($remedy; request $request)" >&2
exit 1

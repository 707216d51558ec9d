#!/bin/sh
# Prints all plants, or the one with an id, as lines of JSON that `npm run import` takes, with curl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
#   examples/read-plants.sh
#   examples/read-plants.sh 9223372036854775807
set -eu

fail() {
  echo "$1" >&2
  exit "${2-1}"
}

url=${PLANT_STORE_URL-http://127.0.0.1:3000}
[ $# -le 1 ] || fail "usage: $0 [ID]" 2
[ $# -eq 0 ] || expr "X$1" : 'X-\{0,1\}[0-9][0-9]*$' > /dev/null || fail "usage: $0 [ID]" 2
case ${ACCESS_TOKEN-} in
  '' | *[![:graph:]]*)
    fail 'ACCESS_TOKEN must be a token of the service; one that the service made itself is in data/access-token' ;;
esac

response=$(mktemp -d)
trap 'rm -r "$response"' EXIT

# Gets the body of a path, whole or not at all. After a 408, 500 or 503 curl sends the request again by itself, when
# Retry-After says, and so after a connection that was lost. The token comes on stdin, since everybody on the machine can
# read a command's arguments.
get() {
  status=$(
    curl --silent --show-error --retry 2 --retry-all-errors --max-time 60 --output "$response/body" \
      --dump-header "$response/headers" --write-out '%{http_code}' --header @- --header "Accept: $2" \
      "$url$1" 2> "$response/problem" <<END
Authorization: Bearer $ACCESS_TOKEN
END
  ) || fail "cannot reach $url ($(sed -n '/^curl/{p;q;}' "$response/problem")): is the service running there?"
  [ "$status" = 200 ] || refused
  case $(header content-type) in
    "$2"*) ;;
    *) fail "$url does not respond as Plant Store does: is that its address?" ;;
  esac
}

# The value of a header of the last response, by its name in lower case.
header() {
  tr -d '\r' < "$response/headers" | awk -v name="$1:" '
    /^HTTP\// { value = "" }
    tolower($1) == name { value = substr($0, length(name) + 2) }
    END { print value }'
}

refused() {
  error=$(sed 's/^{"error":\([0-9]*\),.*/\1/' "$response/body")
  message=$(sed 's/.*"message":"\(.*\)"}$/\1/' "$response/body")
  case $error in
    40800 | 50300) remedy='send it again' ;;
    40022 | 40401 | 41000) remedy='check the id' ;;
    40100 | 40101 | 40300) remedy='get a token' ;;
    50000) remedy='report it' ;;
    # What stands in front of the service has errors of its own.
    '' | *[!0-9]*) fail "$url does not respond as Plant Store does: is that its address?" ;;
    *) remedy='fix this program' ;;
  esac
  fail "$error: $message ($remedy; request $(header x-request-id))"
}

if [ $# -eq 1 ]; then
  get "/plants/$1" application/json
  cat "$response/body"
  echo
  exit
fi

query='?limit=1000'
while [ "$query" ]; do
  get "/plants$query" application/x-ndjson
  cat "$response/body"
  # The last page has no link to another.
  query=$(header link | sed 's/^<\(.*\)>; rel="next"$/\1/')
done

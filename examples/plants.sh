#!/bin/sh
# A client of Plant Store that needs curl, and for verify openssl:
#
#   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
#   examples/plants.sh create 9223372036854775807 'Pinus longaeva' conifer
set -eu

usage="usage: $0 create ID NAME [TAG]
       $0 read [ID | --name=TEXT]
       $0 change ID [--name=NAME] [--tag=TAG | --no-tag]
       $0 delete ID
       $0 follow [POSITION]
       $0 import FILE.csv | FILE.ndjson
       $0 verify WEBHOOK-ID WEBHOOK-TIMESTAMP WEBHOOK-SIGNATURE < BODY

follow prints pages of changes for ever, and the \"next\" of each is the position after it. The service is that of
PLANT_STORE_URL and PLANT_STORE_TOKEN; verify needs WEBHOOK_SECRET."

url=${PLANT_STORE_URL-http://127.0.0.1:3000}

fail() {
  echo "$1" >&2
  exit "${2-1}"
}

# Whether it is an integer, as JSON spells it.
is_id() {
  [ "$1" = 0 ] || expr "X$1" : 'X-\{0,1\}[1-9][0-9]*$' > /dev/null
}

# A text as a JSON string.
json_text() {
  TEXT=$1 LC_ALL=C awk 'BEGIN {
    for (code = 1; code < 32; code++) escaped[sprintf("%c", code)] = sprintf("\\u%04x", code)
    escaped["\""] = "\\\""
    escaped["\\"] = "\\\\"
    text = ENVIRON["TEXT"]
    for (at = 1; at <= length(text); at++) {
      letter = substr(text, at, 1)
      json = json (letter in escaped ? escaped[letter] : letter)
    }
    print "\"" json "\""
  }'
}

# Sends a request, given as a method, a path and options of curl, and gets the whole body or nothing. After a 408, 500 or
# 503 curl sends it again by itself, when Retry-After says, and so after a connection that was lost, which is safe. The
# token comes on stdin, since everybody on the machine can read a command's arguments.
send() {
  method=$1 path=$2
  shift 2
  : > "$response/body"
  status=$(
    curl --silent --show-error --retry 2 --retry-all-errors --max-time 60 --output "$response/body" \
      --dump-header "$response/headers" --write-out '%{http_code}' --header @- --request "$method" "$@" \
      "$url$path" 2> "$response/problem" <<END
Authorization: Bearer $PLANT_STORE_TOKEN
END
  ) || fail "cannot reach $url ($(sed -n '/^curl/{p;q;}' "$response/problem")): is the service running there?"
  case $status$(header content-type) in
    204* | *application/json* | *application/x-ndjson*) ;;
    # What stands in front of the service has errors of its own.
    *) not_plant_store ;;
  esac
}

# The same, or says what is wrong.
succeed() {
  send "$@"
  case $status in 2*) ;; *) refused ;; esac
}

# With the body in $response/request.
json='Content-Type: application/json'

# The value of a header of the last response, by its name in lower case.
header() {
  tr -d '\r' < "$response/headers" | awk -v name="$1:" '
    /^HTTP\// { value = "" }
    tolower($1) == name { value = substr($0, length(name) + 2) }
    END { print value }'
}

# Prints the body of the last response, which is one line.
print_body() {
  cat "$response/body"
  echo
}

# Says what is wrong, and what to do about it.
refused() {
  error=$(sed 's/^{"error":\([0-9]*\),.*/\1/' "$response/body")
  message=$(sed 's/.*"message":"\(.*\)"}$/\1/' "$response/body")
  case $error in
    40000) remedy='fix the list' ;;
    40009 | 40010) remedy='give it another id' ;;
    40013) remedy='send less' ;;
    40022) remedy='fix what it names' ;;
    40100 | 40101 | 40300) remedy='get a token' ;;
    40401 | 41000) remedy='check the id' ;;
    40800 | 50300) remedy='send it again' ;;
    41001) remedy='start again without a position' ;;
    41200) remedy='do it again' ;;
    50000) remedy='report it' ;;
    50100) remedy='read the store as a list' ;;
    40001 | 40015 | 40400 | 40500 | 40600 | 41700 | 43100) remedy='fix this program' ;;
    *) not_plant_store ;;
  esac
  fail "$error: $message ($remedy; request $(header x-request-id))"
}

not_plant_store() {
  fail "$url does not respond as Plant Store does: is that its address?"
}

create() {
  plant="{\"id\":$1,\"name\":$(json_text "$2")"
  [ $# -eq 2 ] || plant="$plant,\"tag\":$(json_text "$3")"
  printf '%s}' "$plant" > "$response/request"
  succeed POST /plants --header "$json" --data-binary "@$response/request"
  print_body
}

read_one() {
  succeed GET "/plants/$1"
  print_body
}

# Page by page, with a text in their names. An empty one is as none.
list() {
  query='?limit=1000'
  set -- --get --data-urlencode "name=$1"
  while [ "$query" ]; do
    succeed GET "/plants$query" --header 'Accept: application/x-ndjson' "$@"
    cat "$response/body"
    # The link has the name. The last page has no link to another.
    set --
    query=$(header link | sed 's/^<\(.*\)>; rel="next"$/\1/')
  done
}

# Changes a plant, or deletes it with --delete, and prints what it is then, or was. If somebody else changes it at the same
# time, it does the same to what they have made of it: the ETag makes sure that nothing of that is lost.
change() {
  id=$1
  shift
  for attempt in 1 2 3 4 5; do
    succeed GET "/plants/$id"
    etag=$(header etag)
    before=$(cat "$response/body")
    if [ "$1" = --delete ]; then
      send DELETE "/plants/$id" --header "If-Match: $etag"
    else
      changed "$@" > "$response/request"
      send PUT "/plants/$id" --header "If-Match: $etag" --header "$json" --data-binary "@$response/request"
    fi
    [ "$status" = 412 ] && [ "$attempt" -lt 5 ] || break
    echo 'somebody else has changed it meanwhile: trying again with what it is now' >&2
  done
  case $status in
    200) print_body ;;
    204) printf '%s\n' "$before" ;;
    *) refused ;;
  esac
}

# $before with what is new, as its options say, and without its id. A quote within a text has a backslash before it, so that
# ,"tag": can be no part of one.
changed() {
  name=$(printf '%s\n' "$before" | LC_ALL=C sed 's/^{"id":[^,]*,"name"://; s/,"tag":.*//; s/}$//')
  tag=$(printf '%s\n' "$before" | LC_ALL=C sed -n 's/.*,"tag":\(.*\)}$/\1/p')
  for option; do
    case $option in
      --name=*) name=$(json_text "${option#*=}") ;;
      --tag=*) tag=$(json_text "${option#*=}") ;;
      --no-tag) tag='' ;;
    esac
  done
  printf '{"name":%s%s}' "$name" "${tag:+,\"tag\":$tag}"
}

follow() {
  set -- ${1+--data-urlencode "after=$1"}
  while :; do
    succeed GET /changes --get --data limit=1000 --data wait=30 "$@"
    case $(head -c 13 "$response/body") in '{"changes":[]') ;; *) print_body ;; esac
    # Within a text, quotes have a backslash before them.
    set -- --data-urlencode "after=$(sed 's/.*"next":"\([^"]*\)".*/\1/' "$response/body")"
  done
}

# At most 20,000 plants and a mebibyte: for longer lists there is `npm run import`. Ends with 2 if some were refused.
import() {
  case $1 in *.csv) type=text/csv ;; *) type=application/x-ndjson ;; esac
  succeed POST /import --header "Content-Type: $type" --data-binary "@$1"
  print_body
  grep -q '"refused":\[\]' "$response/body" || exit 2
}

# HMAC-SHA256 in base64, without the key among the arguments of a command, which everybody on the machine can read.
signature() {
  key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | { openssl base64 -d -A; head -c 64 /dev/zero; } | head -c 64 | od -An -v -tx1)
  { padded 0x5c; { padded 0x36; cat; } | openssl dgst -sha256 -binary; } | openssl dgst -sha256 -binary | openssl base64 -A
}

padded() {
  for octet in $key; do printf "\\$(printf %03o $((0x$octet ^ $1)))"; done
}

# Prints the body if the service has signed it, a short time ago: https://www.standardwebhooks.com
verify() {
  case ${WEBHOOK_SECRET-} in
    whsec_*) ;;
    *) fail 'WEBHOOK_SECRET must be that of the service: whsec_...' ;;
  esac
  cat > "$response/body"
  is_id "$2" && age=$(($(date +%s) - $2)) && [ "$age" -lt 300 ] && [ "$age" -gt -300 ] ||
    fail 'the service has not sent this: it is too old, or the clocks differ'
  # While the secret is being replaced there are two.
  case " $3 " in
    *" v1,$({ printf '%s.%s.' "$1" "$2"; cat "$response/body"; } | signature) "*) print_body ;;
    *) fail 'the service has not sent this: its signature is another one' ;;
  esac
}

wrong() {
  fail "$usage" 2
}

command=${1-}
[ $# -eq 0 ] || shift
case $command,$#,${1-} in
  read,0,) set -- list '' ;;
  read,1,--name=?*) set -- list "${1#--name=}" ;;
  follow,0, | follow,1,?*) set -- follow "$@" ;;
  import,1,*.csv | import,1,*.ndjson) [ -f "$1" ] && set -- import "$1" || wrong ;;
  verify,3,*) set -- verify "$@" ;;
  create,[23],* | read,1,* | change,[23],* | delete,1,*)
    is_id "$1" || wrong
    case $command in
      create) set -- create "$@" ;;
      read) set -- read_one "$1" ;;
      delete) set -- change "$1" --delete ;;
      change)
        tags=''
        for option; do
          case $option in
            "$1" | --name=*) ;;
            --tag=* | --no-tag) tags=.$tags ;;
            *) wrong ;;
          esac
        done
        [ "$tags" != .. ] || wrong
        set -- change "$@"
        ;;
    esac
    ;;
  *) wrong ;;
esac
[ "$1" = verify ] || case ${PLANT_STORE_TOKEN-} in
  '' | *[![:graph:]]*)
    fail 'PLANT_STORE_TOKEN must be a token of the service; one that the service made itself is in data/access-token' ;;
esac
response=$(mktemp -d)
trap 'rm -r "$response"' EXIT
"$@"

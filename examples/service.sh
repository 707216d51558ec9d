# The service that PLANT_STORE_URL and PLANT_STORE_TOKEN name, for the programs beside this file, which it is a part of.
set -eu

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

connect() {
  case ${PLANT_STORE_TOKEN-} in
    '' | *[![:graph:]]*)
      fail 'PLANT_STORE_TOKEN must be a token of the service; one that the service made itself is in data/access-token' ;;
  esac
  response=$(mktemp -d)
  trap 'rm -r "$response"' EXIT
}

# Sends a request, given as a method, a path and options of curl, with the body in $response/request if the method has one,
# and gets the whole body or nothing. After a 408, 500 or
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

# Says what is wrong, and what to do about it: `remedy`, unless the error can be that of any request.
refused() {
  error=$(sed 's/^{"error":\([0-9]*\),.*/\1/' "$response/body")
  message=$(sed 's/.*"message":"\(.*\)"}$/\1/' "$response/body")
  case $error in
    40800 | 50300) remedy='send it again' ;;
    40100 | 40101 | 40300) remedy='get a token' ;;
    50000) remedy='report it' ;;
    '' | *[!0-9]*) not_plant_store ;;
    *) remedy=$(remedy_of "$error") ;;
  esac
  fail "$error: $message (${remedy:-fix this program}; request $(header x-request-id))"
}

not_plant_store() {
  fail "$url does not respond as Plant Store does: is that its address?"
}

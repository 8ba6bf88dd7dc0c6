#!/bin/sh
# Logs in, calls me, and logs out, with LATCHKEY_URL, LATCHKEY_EMAIL and LATCHKEY_PASSWORD. LATCHKEY_TOKEN can be the token
# of an earlier login. Exits 0 when done, 1 when refused, 2 when a setting is missing.
set -eu

for name in LATCHKEY_URL LATCHKEY_EMAIL LATCHKEY_PASSWORD; do
  if eval "[ -z \"\${$name:-}\" ]"; then
    echo "latchkey: set $name" >&2
    exit 2
  fi
done

tries=4
longest_wait_s=60
token=${LATCHKEY_TOKEN:-}

fail() {
  echo "latchkey: $1" >&2
  exit 1
}

# Prints a field of the response. None of the fields that are read here can contain a quote.
field() {
  printf '%s\n' "$response" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

refused() {
  fail "$status $(field reason), request $(field request_id)"
}

# POST to a path with $input on standard input, because every local user can read arguments. Retries after Retry-After; sets
# $status and $response.
post() {
  path=$1
  shift
  try=1
  while :; do
    response=$(printf '%s\n' "$input" |
      curl -s -i --max-time 15 -w '\n%{http_code}' -X POST "$LATCHKEY_URL$path" "$@") ||
      fail 'the service cannot be reached'
    status=$(printf '%s\n' "$response" | tail -n 1)
    case $status in 429 | 503) ;; *) return 0 ;; esac
    wait_s=$(printf '%s\n' "$response" | tr -d '\r' |
      sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,6\}\)$/\1/p' | head -n 1)
    if [ "$try" -ge "$tries" ] || [ "${wait_s:-1}" -gt "$longest_wait_s" ]; then refused; fi
    sleep "${wait_s:-1}"
    try=$((try + 1))
  done
}

log_in() {
  input=$(awk 'function text(s) {
      gsub(/["\\]/, "\\\\&", s); gsub(/\t/, "\\t", s); gsub(/\n/, "\\n", s); gsub(/\r/, "\\r", s)
      return "\"" s "\""
    }
    BEGIN {
      printf "{\"email\":%s,\"password\":%s}", text(ENVIRON["LATCHKEY_EMAIL"]), text(ENVIRON["LATCHKEY_PASSWORD"])
    }')
  post /api/login -H 'Content-Type: application/json' --data-binary @-
  [ "$status" = 200 ] || refused
  token=$(field token)
  [ -n "$token" ] || refused
}

as_customer() {
  input="Authorization: Bearer $token"
  post "$1" -H @-
}

[ -n "$token" ] || log_in
as_customer /api/me
if [ "$status" = 401 ]; then
  # Revoked or expired meanwhile: try once with a new token.
  log_in
  as_customer /api/me
fi
[ "$status" = 200 ] || refused
email=$(field email)
[ -n "$email" ] || refused

as_customer /api/logout
# 401 means that the token is revoked: the response to an earlier try was lost.
case $status in 200 | 401) ;; *) refused ;; esac
echo "logged in and out as $email"

#!/usr/bin/env bash
# Loads the server, crashes it under load, starts it again and shows the report of the crash:
#
#   bash Examples/Server/load.sh [ROUTE]       by default /crash/array
#
# The load comes from wrk where that is installed (Debian: apt-get install wrk), else from load-generator of
# this package. CONFIGURATION=debug takes what `swift build` has built.
set -eu
# The handler's own summary in the log, in place of the backtracer's text.
export SWIFT_BACKTRACE=enable=no
cd "$(dirname "$0")/../.."
route=${1:-/crash/array}
configuration=${CONFIGURATION:-release}

for product in Server load-generator postmortem; do
  swift build -c "$configuration" --product "$product" >&2
done
binaries=$(swift build -c "$configuration" --show-bin-path)
directory=$(mktemp -d)
server=
# Ends what still runs, by the IDs of the shell's own jobs.
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  rm -rf "$directory"
}
trap finish EXIT

# Starts the server, and waits until it has told its port.
start() {
  # The child that opens the log comes later: until then the log is the one of the server before, which listened too.
  : >"$directory/log"
  "$binaries/Server" "$directory/database" "$port" 2>"$directory/log" &
  server=$!
  until grep -q 'listening on' "$directory/log"; do
    kill -0 "$server" || { cat "$directory/log"; exit 1; }
    sleep 0.05
  done
  port=$(sed -n 's/.*listening on 127\.0\.0\.1://p' "$directory/log")
}

# Loads the server for some seconds.
load() {
  if command -v wrk >/dev/null; then
    wrk --threads 2 --connections 16 --duration "$1" "http://127.0.0.1:$port/"
  else
    "$binaries/load-generator" "$port" "$1" 16
  fi
}

port=0
start
echo "== load on port $port, and after a second: GET $route"
load 3 &
loader=$!
sleep 1
curl --silent --max-time 5 --header 'X-Request-ID: the-guilty-one' \
  "http://127.0.0.1:$port$route" || echo "curl: no answer (status $?)"
# The load ends with its connections, and says how many requests were lost.
wait "$loader" || true
wait "$server" && status=0 || status=$?
server=
echo "== the server ended with status $status; its log:"
cat "$directory/log"

echo "== again, under load: it makes the report meanwhile"
start
load 2
curl --silent "http://127.0.0.1:$port/healthz"
kill -TERM "$server"
wait "$server" && status=0 || status=$?
server=
echo "== SIGTERM: status $status; its log:"
cat "$directory/log"

echo "== the report"
# The server converts at low priority, and may have been stopped before it was done.
"$binaries/postmortem" process "$directory/database"
"$binaries/postmortem" show "$directory/database" | head -n "${LINES_SHOWN:-60}"

#!/bin/sh
# prosody.sh - three snapshots inside a running XMPP server, and what they say.
#
#     examples/real/prosody.sh BUILD DIRECTORY
#
# Starts Debian's prosody (on lua5.4) on a port of this machine only, with all its files in
# DIRECTORY, loads it with prosody_client.lua, and has mod_heap take a, b and c: 200 users log in
# between a and b, 20 between b and c. Prints what they say. Takes some ten seconds.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
cd "$2"
port=${PORT:-15222}
PATH="$build/bin:$PATH"

mkdir -p data/localhost/accounts
for user in $(seq 1 20) $(seq 1001 1200) $(seq 2001 2020); do
  echo 'return { password = "secret" }' >"data/localhost/accounts/user$user.dat"
done
cat >prosody.cfg.lua <<END
daemonize = false
run_as_root = true
pidfile = "$PWD/prosody.pid"
data_path = "$PWD/data"
plugin_paths = { "$here" }
heap_snapshots = "$PWD"
log = { info = "$PWD/prosody.log" }
modules_enabled = {
  "posix", "disco", "roster", "saslauth", "blocklist", "bookmarks", "carbons", "pep", "private",
  "smacks", "vcard4", "vcard_legacy", "csi_simple", "ping", "time", "uptime", "version", "heap",
}
modules_disabled = { "s2s" }
interfaces = { "127.0.0.1" }
c2s_ports = { $port }
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
authentication = "internal_plain"
VirtualHost "localhost"
END

rm -f a b c
LUA_CPATH="$build/?.so;;" prosody --config prosody.cfg.lua </dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || :' EXIT

wait_for() { # command
  tries=0
  until sh -c "$1" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "prosody.sh: gave up on: $1" >&2; exit 1; }
    sleep 0.1
  done
}

load() { # sessions, failures, number of the first user
  lua5.4 "$here/prosody_client.lua" "$port" "$@"
}

snapshot() { # name
  kill -USR1 "$server"
  # The server sleeps until something happens: the signal is seen at the next connection.
  wait_for "lua5.4 -e 'require[[socket]].connect([[127.0.0.1]], $port)'; test -e $1"
}

wait_for "lua5.4 -e 'assert(require[[socket]].connect([[127.0.0.1]], $port))'"
load 20 5 1
snapshot a
load 200 50 1001
snapshot b
load 20 5 2001
snapshot c
kill "$server"
wait "$server" || :

heapdiff -n 5 a b c

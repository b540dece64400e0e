#!/bin/sh
# run.sh - the day of a crash: a server ran out of memory, and all that is left of it is a core.
#
#     examples/crash/run.sh BUILD [DIRECTORY]
#
# Runs server.lua with 48 MB until it aborts, and asks heapattach and heaptop about its core. Where
# the system writes cores to files, it does so here; where it hands them to a program, as systemd's,
# or the limit for cores is 0, as in many containers, gdb runs the server and writes the core at the
# signal. All that is made lies in DIRECTORY, BUILD/crash if none is named. Exit 3: no core can be
# had here.
set -eu
umask 077 # a core has all that was in the program's memory

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd)
mkdir -p "${2:-$build/crash}"
cd "${2:-$build/crash}"
cp "$here/server.lua" .
lua=${LUA:-lua5.4}
PATH="$build/bin:$PATH"
server="ulimit -v 49152; exec $lua server.lua"

by_kernel() {
  case $(cat /proc/sys/kernel/core_pattern) in
    '|'* | */*) return 1 ;; # a program's, or somewhere else
  esac
  # shellcheck disable=SC3045 # dash and busybox have it
  (ulimit -c unlimited && sh -c "$server") || true
  for made in core.*; do # some systems add the process's number
    [ ! -e "$made" ] || mv "$made" core
  done
}

by_gdb() {
  command -v gdb >/dev/null || return 1
  gdb -q -batch -ex run -ex 'generate-core-file core' --args sh -c "$server" >gdb.log 2>&1 || true
}

run() {
  printf '\n    $ %s\n' "$*"
  "$@"
}

rm -f core* c
by_kernel || true
[ -s core ] || by_gdb || true
if [ ! -s core ]; then
  echo "run.sh: no core can be had here: cores go to $(cat /proc/sys/kernel/core_pattern)," \
    "and gdb is not there or may not trace" >&2
  exit 3
fi
run heapattach --list core
run heapattach core -o c
run heaptop -n 5 c
run heappath --format text c '{articles, visitor}'

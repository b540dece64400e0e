#!/bin/sh
# release.sh - the suite on another Lua: `make test-release LUA_DIR=...`
#
#     tests/release.sh LUA_DIR
#
# LUA_DIR has the sources of a release (lua.h and the like in it, or in its src/), as in a checkout
# of its tag or an unpacked archive. Built from them, in build/release-5.M.N/lua_itself, are an
# interpreter and a shared library, with which the C tests and the specs are run. Where LUA_DIR has
# Lua's own test suite (testes/), each file of that is run with a hook that takes snapshots
# (tests/common/lua_hooked.c), incremental and generational, and tracked in three ways: the last
# line that it prints must be the same as without. The hook ends where a file sets its own.
#
# tests/track/truth_spec.lua builds another Lua from them, which it holds lib/track against.
#
# With SPECS="tests/lua/a_spec.lua ..." and TESTS="test_a ..." only these are run, with "" none. All
# output of theirs is in build/release-5.M.N/log.
set -u

fail() {
  echo "release.sh: $*" >&2
  exit 2
}

dir=$(cd "$1" && pwd) || exit 2
sources=$dir
[ -f "$sources/lua.h" ] || sources=$dir/src
[ -f "$sources/lua.h" ] || fail "no lua.h in $dir or $dir/src"
# The number behind a name that 5.4 and 5.5 define: LUA_VERSION_MINOR "4", LUA_VERSION_MINOR_N 5.
number() { # name
  sed -n "s/^#define $1\(_N\)\{0,1\}[[:space:]]*\"*\([0-9][0-9]*\)\"*$/\2/p" "$sources/lua.h"
}
minor=$(number LUA_VERSION_MINOR)
release=$(number LUA_VERSION_RELEASE)
case $minor.$release in 4.?* | 5.?*) ;; *) fail "$sources/lua.h is not of Lua 5.4 or 5.5" ;; esac
name=release-5.$minor.$release
build=build/$name
own=$(pwd)/$build/lua_itself
triplet=$("${CC:-gcc}" -print-multiarch)

# The modules that busted needs are Debian's, or in MODULES: its share/?.lua and lib/?.so.
build_lua() {
  share=/usr/share/lua/5.4
  lib=/usr/lib/$triplet/lua/5.$minor
  compile="${CC:-gcc} -std=gnu99 -O2 -g -fPIC -DLUA_COMPAT_5_3 -DLUA_COMPAT_MATHLIB"
  compile="$compile -DLUA_USE_LINUX -I$sources"
  lua="${MODULES-}/share/?.lua;${MODULES-}/share/?/init.lua;$share/?.lua;$share/?/init.lua;./?.lua"
  c="${MODULES-}/lib/?.so;$lib/?.so;./?.so"
  set -- "-DLUA_PATH_DEFAULT=\"$lua\"" "-DLUA_CPATH_DEFAULT=\"$c\""
  mkdir -p "$own"
  [ -n "$(find "$own/lua" -newer "$sources/lua.h" 2>/dev/null)" ] && return
  for file in "$sources"/l*.c; do
    base=$(basename "$file" .c)
    case $base in lua | luac | ltests) continue ;; esac
    $compile "$@" -c -o "$own/$base.o" "$file" || return 1
  done
  $compile -shared -o "$own/liblua.so" "$own"/*.o -lm -ldl &&
    $compile -Wl,-E -o "$own/lua" "$sources/lua.c" "$own"/*.o -lm -ldl
}

# One file of Lua's own suite: the exit status and the last line that it prints.
run_own() { # file
  timeout -k 9 600 "$own/lua" -e "_U = true _soft = true _port = true _nomsg = true T = nil" \
    ${hooked:+-l lua_hooked} "$1" </dev/null 2>"$work/errors" | tail -n 1
}

own_suite() {
  files=0 different=0
  export LUA_CPATH="$root/$build/tests/?.so;;" LUAHEAP_SUM="$work/sum" LUAHEAP_EVERY=500
  for file in *.lua; do
    case $file in all.lua | tracegc.lua | heavy.lua) continue ;; esac
    hooked=
    expected=$(run_own "$file")
    for mode in incremental generational incremental,pool generational,host incremental,sample; do
      hooked=1
      export LUAHEAP_MODE="${mode%,*}" LUAHEAP_TRACK="${mode#*,}"
      [ "$LUAHEAP_TRACK" != "$mode" ] || unset LUAHEAP_TRACK
      result=$(run_own "$file")
      grep '^hooked:' "$work/errors" | sed "s/^/$file, $mode: /" | sort | uniq -c | head -n 20
      if [ "$result" != "$expected" ]; then
        different=$((different + 1))
        echo "$file, $mode: '$result' for '$expected'"
        tail -n 5 "$work/errors"
      fi
    done
    files=$((files + 1))
  done
  awk -v files=$files -v different=$different '{ n += $1; u += $2; s += $3 } END {
    printf "%d files of Lua'"'"'s suite, %d different; %d snapshots, %d unaccounted, %d unsound\n",
      files, different, n, u, s
    exit different + u + s > 0 }' "$work/sum"
}

root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
build_lua || fail "cannot build Lua"
"$own/lua" -v
"${MAKE:-make}" --no-print-directory RELEASE="$build" LUA_CFLAGS="-I$sources" \
  LUA_LIBS="-L$own -llua -Wl,-rpath,$own" release-built || exit 2
export LUAHEAP_LUA_DIR="$dir"
specs=${SPECS-$(echo tests/*/*_spec.lua)}
tests=${TESTS-$(cd "$build/tests" && echo test_*)}
programs=$(for t in $tests; do echo "$build/tests/$t"; done)
log=$build/log
: >"$log"
# shellcheck disable=SC2086
[ -z "$programs$specs" ] ||
  LUA="$own/lua" tests/run.sh --only "$build" $programs $specs >"$log" 2>&1 || status=1
grep 'FAILED\|: failed with\|^Failure\|^Error' "$log"
passed=$(grep -c '^\[       OK' "$log")
cases=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | awk '/ successes? \// { s += $1; f += $4 + $7 }
  END { printf "%d specs passed, %d failed", s, f }')
if [ -d "$dir/testes" ]; then
  cp -r "$dir/testes" "$work/testes"
  sed -i '/^assert(not debug.gethook())$/d' "$work/testes/db.lua" # at its beginning
  # And here marks are counted.
  sed -i '/^  assert(m == collectgarbage"count")$/d' "$work/testes/vararg.lua"
  own_line=$(cd "$work/testes" && own_suite) || status=1
else
  own_line="no testes/ in $dir"
fi
echo "$own_line"
echo "$name: $passed C tests passed; $cases; $(echo "$own_line" | tail -n 1)"
exit $status

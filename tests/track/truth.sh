#!/bin/sh
# truth.sh - builds a Lua that keeps a record of its own of who runs: the truth to hold heap.track
# against.
#
#     CC=gcc CFLAGS=-O2 tests/track/truth.sh SOURCES OUT
#
# SOURCES has the C files of a release of Lua 5.4. A copy of them, in OUT, is changed in two places,
# of which the nine releases have the same:
#
# - luaV_execute says of each instruction that it fetches in which call and where that is;
# - luaD_rawrunprotected and luaD_call, by which alone a coroutine begins to run or runs on, say
#   which one that is, and what it was before when they are left, by a return or an error.
#
# OUT/lua exports three variables, for truth.h to ask. They are not the state's: one thread only.
set -eu

sources=$1
out=$2
rm -rf "$out"
mkdir -p "$out"
cp "$sources"/*.c "$sources"/*.h "$out"
cd "$out"
rm -f ltests.c ltests.h onelua.c luac.c

# change FILE SCRIPT PATTERN: by sed; what it makes must then be in the file.
change() {
  sed "$2" "$1" >"$1.new"
  mv "$1.new" "$1"
  grep -q "$3" "$1" || { echo "truth.sh: $1 is not as expected: no $3" >&2; exit 2; }
}

change lvm.c 's/^  i = \*(pc++); \\$/  i = *(pc++); luai_truth_call = ci; luai_truth_pc = pc; \\/' \
  'luai_truth_pc = pc; .$'
change ldo.c 's/^void luaD_call (/static void plain_call (/
  s/^void luaD_callnoyield (/static void plain_callnoyield (/
  s/^int luaD_rawrunprotected (/static int plain_rawrunprotected (/
  s/^l_noret luaD_throw/int luaD_rawrunprotected (lua_State *L, Pfunc f, void *ud);\n&/' \
  '^static int plain_rawrunprotected'
cat >>lstate.h <<'TRUTH'
LUA_API lua_State *luai_truth_running;
LUA_API CallInfo *luai_truth_call;
LUA_API const Instruction *luai_truth_pc;
TRUTH

cat >>ldo.c <<'TRUTH'

lua_State *luai_truth_running;
CallInfo *luai_truth_call;
const Instruction *luai_truth_pc;

int luaD_rawrunprotected (lua_State *L, Pfunc f, void *ud) {
  lua_State *before = luai_truth_running;
  luai_truth_running = L;
  int status = plain_rawrunprotected(L, f, ud);
  luai_truth_running = before;
  return status;
}

void luaD_call (lua_State *L, StkId func, int nresults) {
  lua_State *before = luai_truth_running;
  luai_truth_running = L;
  plain_call(L, func, nresults);
  luai_truth_running = before;
}

void luaD_callnoyield (lua_State *L, StkId func, int nresults) {
  lua_State *before = luai_truth_running;
  luai_truth_running = L;
  plain_callnoyield(L, func, nresults);
  luai_truth_running = before;
}
TRUTH
# shellcheck disable=SC2086 # flags are words
for source in *.c; do
  "${CC:-gcc}" -std=gnu99 ${CFLAGS:--O2} -fPIC -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -c "$source"
done
# shellcheck disable=SC2086
"${CC:-gcc}" ${CFLAGS:--O2} -Wl,-E -o lua ./*.o -lm -ldl

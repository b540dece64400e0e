#!/bin/sh
# truth.sh - builds a Lua that keeps a record of its own of who runs: the truth to hold heap.track
# against.
#
#     CC=gcc CFLAGS=-O2 tests/track/truth.sh SOURCES OUT
#
# SOURCES has the C files of a release of Lua. A copy of them, in OUT, is changed in two places, of
# which all releases of 5.4 and 5.5 have the same:
#
# - luaV_execute notes in each call where the instruction is that it fetches, or calls the hook for:
#   in a field where a CallInfo of a Lua function has room, so that it is laid out as before;
# - luaD_rawrunprotected and luaD_call, by which alone a coroutine begins to run or runs on, say
#   which one that is, and which it was before: that one again, when they are left by a return or an
#   error.
#
# OUT/lua exports a variable for truth.h to ask. It is not the state's: one thread only.
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

change lstate.h 's/^      int nextraargs;/& const Instruction *truth;/' 'Instruction .truth'
change lvm.c 's/ i = \*(pc++);/& ci->u.l.truth = pc;/
  s/ trap = luaG_traceexec(L, pc);/ ci->u.l.truth = pc + 1;&/' 'u.l.truth = pc; .$'
change ldo.c 's/savedpc = p->code;/& ci->u.l.truth = p->code;/' 'truth = p->code'
change ldo.c 's/^void luaD_call (/static void plain_call (/
  s/^void luaD_callnoyield (/static void plain_callnoyield (/
  s/^\(int\|TStatus\) luaD_rawrunprotected (/static \1 plain_rawrunprotected (/' \
  '^static \(int\|TStatus\) plain_rawrunprotected'
cat >>lstate.h <<'TRUTH'
#ifndef luai_truth_h
#define luai_truth_h
typedef struct luai_truth {
  lua_State *thread;
  struct luai_truth *before;
} luai_truth;
LUA_API luai_truth *luai_truth_running;
#endif
TRUTH

cat >>ldo.c <<'TRUTH'

#if LUA_VERSION_NUM == 504
typedef int TStatus;
#endif
luai_truth *luai_truth_running;

TStatus luaD_rawrunprotected (lua_State *L, Pfunc f, void *ud) {
  luai_truth now = {L, luai_truth_running};
  luai_truth_running = &now;
  TStatus status = plain_rawrunprotected(L, f, ud);
  luai_truth_running = now.before;
  return status;
}

void luaD_call (lua_State *L, StkId func, int nresults) {
  luai_truth now = {L, luai_truth_running};
  luai_truth_running = &now;
  plain_call(L, func, nresults);
  luai_truth_running = now.before;
}

void luaD_callnoyield (lua_State *L, StkId func, int nresults) {
  luai_truth now = {L, luai_truth_running};
  luai_truth_running = &now;
  plain_callnoyield(L, func, nresults);
  luai_truth_running = now.before;
}
TRUTH
# shellcheck disable=SC2086 # flags are words
for source in *.c; do
  "${CC:-gcc}" -std=gnu99 ${CFLAGS:--O2} -fPIC -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -c "$source"
done
# shellcheck disable=SC2086
"${CC:-gcc}" ${CFLAGS:--O2} -Wl,-E -o lua ./*.o -lm -ldl

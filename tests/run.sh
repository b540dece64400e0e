#!/bin/sh
# run.sh - runs the suite on one build: first the C programs, then the specs under busted.
#
#     tests/run.sh BUILD PROGRAM ...     BUILD holds heap.so and bin/; exit 1 when anything failed
#
# With SANITIZED=1 BUILD is a build for AddressSanitizer. The interpreter is not linked to it, so
# libasan is preloaded, and it may leak at exit: only our own programs are checked for leaks.
set -u
build=$1
shift
status=0

export LUAHEAP_BUILD="$build"
if [ "${SANITIZED-}" = 1 ]; then
  export UBSAN_OPTIONS=print_stacktrace=1
  LUAHEAP_ASAN_COMMANDS="detect_leaks=1:allocator_may_return_null=1"
  export LUAHEAP_ASAN_COMMANDS
  export ASAN_OPTIONS="$LUAHEAP_ASAN_COMMANDS"
fi

for program in "$@"; do
  echo "== $program"
  "$program" </dev/null 2>&1 || { echo "$program: failed with exit code $?"; status=1; }
done

if [ "${SANITIZED-}" = 1 ]; then
  LUAHEAP_PRELOAD=$("${CC:-gcc}" -print-file-name=libasan.so)
  export LUAHEAP_PRELOAD
  export LD_PRELOAD="$LUAHEAP_PRELOAD"
  export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1"
fi
if ls tests/*_spec.lua >/dev/null 2>&1; then
  echo "== busted"
  "${BUSTED:-busted}" --lua="${LUA:-lua5.4}" </dev/null 2>&1 ||
    { echo "busted: failed with exit code $?"; status=1; }
fi
exit $status

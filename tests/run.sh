#!/bin/sh
# run.sh - runs the suite on one build: the C programs, and the specs under busted, one process for
# each file. At the same time as many run as there are processors, and one more, since some wait.
# What takes longest begins first.
#
#     tests/run.sh BUILD PROGRAM ...     BUILD holds heap.so and bin/; exit 1 when anything failed
#     tests/run.sh --only BUILD FILE ... these programs and specs
#     tests/run.sh --one FILE            a program or a spec, in the environment that the above made
#
# What takes twenty minutes hangs, and what prints no sum of its cases has not run them all:
# both have failed. What has failed among others, which take the processor from it for as long as
# the system likes, is run again at the end, alone. How that went is told in a line for each case,
# which begins with `run.sh:`; what failed at first stands in the log behind `| `. The last lines
# name the ten files that took most processor time, and tell that of all.
#
# With SANITIZED=1 BUILD is a build for AddressSanitizer. The interpreter is not linked to it, so
# libasan is preloaded, and it may leak at exit: only our own programs are checked for leaks. Freed
# memory is kept for 16 MB of it, not 256, and a block of the interpreter's has the four innermost
# callers of its allocation: a Lua program takes a third less time so.
set -u

run_one() {
  case $1 in
    *_spec.lua) set -- "${BUSTED:-busted}" --lua="${LUA:-lua5.4}" "$1" ;;
    *) set -- "$1" ;;
  esac
  if [ "${SANITIZED-}" = 1 ] && [ $# -gt 1 ]; then
    set -- env LD_PRELOAD="$LUAHEAP_PRELOAD" \
      ASAN_OPTIONS="detect_leaks=0:malloc_context_size=4:$LUAHEAP_ASAN_ALL" "$@"
  fi
  timeout -k 9 1200 "$@"
}

name_of() { # of the list of a file's cases
  printf '%s\n' "$1" | tr / :
}

# The cases that failed according to a log, a line each; one line where it does not say.
failed_cases() { # FILE, its log
  sed 's/\x1b\[[0-9;]*m//g' "$2" | awk -v file="$1" '
    /^\[  FAILED  \] [^ ]+$/ && !seen[$4]++ { print file ": " $4; n++ }
    /^(Failure|Error) → / { getline; print file ": " $0; n++ }
    END { if (n == 0) print file }'
}

if [ "$1" = --one ]; then
  log=$(mktemp)
  echo "== $2" >"$log"
  run_one "$2" >>"$log" 2>&1 </dev/null
  status=$?
  [ -z "${LUAHEAP_FAILED-}" ] || {
    times >"$log.times" # in this shell: in a pipe it would be another one's
    awk -v file="$2" 'NR == 2 { split($1 "m" $2, t, "[ms]+")
      printf "%.1f %s\n", 60 * (t[1] + t[3]) + t[2] + t[4], file }' "$log.times" \
      >>"$LUAHEAP_FAILED/seconds"
    rm -f "$log.times"
  }
  [ $status -ne 0 ] || grep -qE 'success(es)? /|test\(s\) run' "$log" || status=1
  if [ $status -ne 0 ]; then
    echo "$2: failed with exit code $status" >>"$log"
    if [ -n "${LUAHEAP_FAILED-}" ]; then
      echo "$2" >>"$LUAHEAP_FAILED/files"
      failed_cases "$2" "$log" >"$LUAHEAP_FAILED/$(name_of "$2")"
      sed -i 's/^/| /' "$log"
    fi
  fi
  flock "$0" cat "$log" # whole, not mixed with what another one prints
  rm -f "$log"
  [ $status -eq 0 ]
  exit
fi

if [ "$1" = --only ]; then
  shift
else
  set -- "$@" tests/*/*_spec.lua
fi
export LUAHEAP_BUILD="$1"
shift
if [ "${SANITIZED-}" = 1 ]; then
  export UBSAN_OPTIONS=print_stacktrace=1
  LUAHEAP_ASAN_ALL="allocator_may_return_null=1:quarantine_size_mb=16"
  LUAHEAP_ASAN_COMMANDS="detect_leaks=1:$LUAHEAP_ASAN_ALL"
  export LUAHEAP_ASAN_ALL LUAHEAP_ASAN_COMMANDS
  export ASAN_OPTIONS="$LUAHEAP_ASAN_COMMANDS"
  export LSAN_OPTIONS="suppressions=$PWD/tests/leaks_of_others.supp:print_suppressions=0"
  LUAHEAP_PRELOAD=$(${CC:-gcc} -print-file-name=libasan.so)
  export LUAHEAP_PRELOAD
fi
LUAHEAP_FAILED=$(mktemp -d)
export LUAHEAP_FAILED
trap 'rm -rf "$LUAHEAP_FAILED"' EXIT
slowest() {
  sort -rn "$LUAHEAP_FAILED/seconds" | awk '
    { sum += $1 }
    NR <= 10 { printf "slowest: %6.1f s  %s\n", $1, $2 }
    END { printf "all of %d: %.1f s\n", NR, sum }'
}

# Of those that take most, so that no processor is left without work at the end.
long='leaks|carried|hostile_pages|harmless|cli_hostile|escapes|memory|install'
long="$long|adversarial|tamper|truth|soak"
tests='work|storm|damage|corpus|silent_file|harmless|families|killed|signals|watch_hooks'
long="/($long)_spec\.lua$|/test_($tests)$"
{
  printf '%s\n' "$@" | grep -E "$long"
  printf '%s\n' "$@" | grep -vE "$long"
} | xargs -P "$(($(nproc) + 1))" -n 1 "$0" --one && slowest && exit
[ -s "$LUAHEAP_FAILED/files" ] || exit 1 # it was not run at all
failed=0
while read -r file; do
  how="failed among others, passed alone"
  LUAHEAP_FAILED='' "$0" --one "$file" || how="failed" failed=1
  sed "s/^/run.sh: $how: /" "$LUAHEAP_FAILED/$(name_of "$file")"
done <"$LUAHEAP_FAILED/files"
slowest
exit "$failed"

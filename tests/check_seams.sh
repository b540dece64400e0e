#!/bin/sh
# check_seams.sh - fails when the parts of the house are joined where they must not be.
#
#     tests/check_seams.sh [BUILD]      checks the sources and, with BUILD, what was built from them
#     tests/check_seams.sh --self-test  breaks each rule in a copy and expects to be told
#
# Data flows one way: lua_State -> walk -> writer -> file -> reader -> graph -> analyses -> report.
# Most rules are a pattern, the files that it is looked for in, and the files that may have it;
# comments are taken out first. The others ask the compiler (the public header) and nm (the
# objects). Prints one line for each rule, and the places that break it.
set -u
unset CDPATH
passed=0
failed=0

report() { # rule, what breaks it (nothing: it holds)
  if [ -z "$2" ]; then
    passed=$((passed + 1))
    echo "ok    $1"
  else
    failed=$((failed + 1))
    echo "FAIL  $1"
    echo "$2" | sed 's/^/        /'
  fi
}

# All code of the current directory as file:line:code, without comments.
code() {
  # shellcheck disable=SC2016 # awk's own dollars
  find lib cli lua -name '*.[ch]' | sort | xargs awk '
    FNR == 1 { inside = 0 }
    {
      rest = $0
      kept = ""
      while (rest != "") {
        if (inside) {
          at = index(rest, "*/")
          if (at) inside = 0
          rest = at ? substr(rest, at + 2) : ""
          continue
        }
        at = match(rest, /\/[\/*]/)
        kept = kept (at ? substr(rest, 1, at - 1) : rest)
        inside = at && substr(rest, at, 2) == "/*"
        rest = inside ? substr(rest, at + 2) : ""
      }
      if (kept ~ /[^ ]/) print FILENAME ":" FNR ":" kept
    }'
}

# rule name, pattern, files that are looked at, files that may have it (all: extended regular
# expressions)
rule() {
  report "$1" "$(grep -E "^($3):[0-9]+:.*($2)" "$sources" | grep -vE "^($4):")"
}

none='-'
writing='lib/(take|track)/[a-z_]+\.[ch]'
reading='lib/(read|profile)/[a-z_]+\.[ch]'
include='# *include +'

check_sources() {
  sources=$(mktemp)
  code >"$sources"
  rule "only layout, walk and track know Lua's structures" \
    "${include}\"(take/)?raw(_code)?\.h\"" '.*' \
    'lib/(take/(layout|raw_code|raw_collector|walk[a-z_]*|writer)|track/[a-z_]*)\.[ch]'
  rule "what looks from outside knows no structures of Lua" \
    "${include}\"((\.\./)?(take|mirrored)/|(raw(_code)?|walk|own|state|take|mirrored)\.h)" \
    'lib/outside/.*' "$none"
  up='name|compare|analyses|usage|view|report'
  writes='take|track'
  flow="lib/($writes)/.*(read|graph|$up)|lib/(read|profile)/.*($writes|graph|$up)"
  flow="$flow|lib/read/.*profile|lib/profile/.*read|lib/graph/.*($writes|profile|$up)"
  flow="$flow|lib/name/.*($writes|profile|compare|analyses|usage|view|report)"
  flow="$flow|lib/compare/.*($writes|profile|analyses|usage|view|report)"
  flow="$flow|lib/analyses/.*($writes|profile|compare|usage|view|report)"
  flow="$flow|lib/usage/.*($writes|profile|read|graph|compare|analyses|view|report)"
  flow="$flow|lib/view/.*($writes|profile|usage|report)"
  flow="$flow|lib/report/.*($writes|profile|read|graph|compare|analyses|usage|view)"
  flow="$flow|lib/outside/.*(track|read|profile|graph|name|analyses|usage|view|report)"
  flow="$flow|lib/mirrored/.*(track|read|profile|graph|name|compare|analyses|usage|view|report)"
  flow="$flow|lib/[a-lnp-z].*(outside|mirrored)"
  # What a folder has found out for answers is in its answers.h, for those that tell it.
  report "data flows one way through lib's folders" "$(
    grep -E "${include}\"" "$sources" | grep -E "^($flow)/[a-z_]+\.h\"" |
      grep -vE "^lib/report/.*(analyses|compare|usage|view)/answers\.h\"")"
  rule "what is below the analyses does not see them" \
    "${include}\"rooms/(all|take|track|analyses|compare|usage|report)\.h\"" \
    'lib/(read|profile|graph|name)/.*' "$none"
  rule "a snapshot from outside asks for no analysis" \
    "${include}\"rooms/(all|graph|analyses|usage|report|profile)\.h\"" \
    'lib/(outside|mirrored)/.*' "$none"
  rule "only heapattach looks from outside" "${include}\"rooms/outside\.h\"" '.*' \
    'lib/outside/[a-z_]+\.[ch]|cli/heapattach(/[a-z_]+)?\.[ch]'
  rule "the public header shows no fields" '(struct|union)[a-z_ ]*\{' 'lib/luaheap\.h' "$none"
  rule "only what looks from outside sees ptrace and ELF" \
    "${include}[<\"](sys/(ptrace|user|procfs)|(lib|g)?elf|elfutils/|lzma)" '.*' \
    'lib/outside/[a-z_]+\.[ch]'
  rule "only files that write see Lua's headers" \
    "${include}[<\"](lua|lauxlib|lualib|luaconf)\.h" '.*' "$writing|lib/weak_lua\.h|lua/.*"
  rule "the analyses never see the file format" \
    "${include}\"((read/|profile/)?(record|scan|reader|format)|sites|varint)\.h\"" '.*' \
    "$reading|$writing|lib/(format|sites)\.[ch]"
  rule "only what draws sees cgraph" \
    "${include}[<\"](graphviz/)?(cgraph|cdt|gvc)" '.*' 'lib/dot\.c|cli/heapview/picture\.c'
  rule "only picture.c sees gvc" "${include}[<\"](graphviz/)?gvc" '.*' 'cli/heapview/picture\.c'
  rule "only what asks in SQL sees SQLite" \
    "${include}[<\"](heapsql/heapsql|sqlite3)" '.*' \
    'cli/(heapsql(/[a-z_]+)?|heapsnap/[a-z_]+|heap(path|view)/query)\.[ch]'
  rule "only server.c sees microhttpd" \
    "${include}[<\"]microhttpd" '.*' 'cli/heapview/server\.c'
  rule "only static_report.c sees zlib" "${include}[<\"]zlib" '.*' 'cli/heapview/static_report\.c'
  rule "what strangers send is read by what knows nothing else" \
    "${include}\"([^r]|r[^e]|re[^q])" 'cli/heapview/requests\.[ch]' "$none"
  rule "the extension can be loaded without the commands" \
    "${include}\"([a-z_/]*/)?(cli|heapsql)\.h\"" 'cli/heapsnap/.*' "$none"
  for part in cli lua; do
    own=$(find $part -name '*.h' | sed 's|.*/||; s|\.h$||' | tr '\n' '|')built_page
    report "of the library $part sees only the rooms' headers" "$(
      grep -E "^$part/[^:]*:[0-9]+:${include}\"" "$sources" |
        grep -vE ":${include}\"(rooms/[a-z]+|weak_lua|([a-z]+/)?(${own}))\.h\"")"
  done
  rule "the library neither prints nor exits" \
    '(^|[^A-Za-z0-9_])((v?printf|puts|putchar|perror|exit|abort) *\(|stdout|stderr)' \
    'lib/.*' "$none"
  # Ties are broken by text, and names and numbers that were printed are cut: strcmp alone is no
  # decision. Who may look into text: what reads requests and what a person wrote in them (names of
  # marks, questions, sites, filters, tiles), what a C function is called, and words in which two
  # numbers read the same. Names are made of text in lib/name, but places are not.
  looks='(strn(case)?cmp|strcasecmp|str(str|r?chr|c?spn|pbrk|casestr)|memmem) *\('
  deciding='name/(fold[a-z_]*|held_by|place[a-z_]*|luaheap_objects|steps|merged[a-z_]*|path_text)'
  deciding="lib/($deciding|(compare|analyses|usage|view|report)/[a-z_]+)\.[ch]"
  requests='compare/diff|analyses/describe|view/(fields|tree)'
  requests="$requests|report/(diff_rows|timeline|object|report|request|sites|sentences)"
  words='compare/known_classes|usage/(advice|tally)|report/(growing|json)'
  rule "places decide what belongs together" \
    "(^|[^a-z_])($looks|!strcmp|strcmp *\\([^;]*\\) *[!=]= *0)" "$deciding" \
    "lib/($requests|$words)\.c"
  rule "what an error says decides nothing" \
    "(^|[^a-z_])(strcmp *\\(|$looks)[^;]*(->|\\.)message" '.*' 'cli/heapsnap/heapsnap\.c'
  rule "a picture looks into no text" "(^|[^a-z_])$looks" 'lib/dot\.c' "$none"
  rule "only base.c allocates" \
    '(^|[^A-Za-z0-9_])(malloc|calloc|realloc|reallocarray|strn?dup|v?asprintf|aligned_alloc) *\(' \
    'lib/.*' 'lib/base\.c'
  rm -f "$sources"
}

check_header() {
  for language in c c++; do
    case $language in
      c) compiler="${CC:-cc} -std=c11" ;;
      *) compiler="${CXX:-c++} -std=c++11" ;;
    esac
    report "the public header compiles alone as $language" "$(
      echo '#include "luaheap.h"' |
        $compiler -x $language -Ilib -Wall -Wextra -pedantic -Werror -fsyntax-only - 2>&1)"
  done
}

# Calls of the library that lead to its own floor's neighbours or upwards: what is undefined in an
# object, and in which folder it is defined. Files that lie in lib/ itself are below all folders,
# but for the picture, which is above; what looks from outside calls what reads and compares, and
# the tables of what knows Lua's structures, which calls what takes and reads.
# Objects of a capture are handed out as values by the one file that looks both at the state and at
# the capture. What writes is one floor of two folders.
calls_upwards() { # build
  # shellcheck disable=SC2016 # awk's own dollars
  for source in lib/*.c lib/*/*.c; do
    case $source in
      lib/mirrored/*) nm -A "$1/lua504/${source%.c}.o" ;;
      *) nm -A "$1/${source%.c}.o" ;;
    esac
  done | sed "s|^$1/||; s|^lua504/||" | awk '
    function folder(object, parts) {
      split(object, parts, /[\/:]/)
      return parts[2] ~ /\.o$/ ? (parts[2] == "dot.o" ? "picture" : "base") : parts[2]
    }
    BEGIN {
      n = split("base read:profile graph name compare:analyses:usage view report picture",
        floors, " ")
      for (i = 1; i <= n; i++) {
        m = split(floors[i], rooms, ":")
        for (k = 1; k <= m; k++) height[rooms[k]] = i
      }
    }
    { symbol = $NF; kind = $(NF - 1); object = $1 }
    kind ~ /^[TDRB]$/ { home[symbol] = folder(object) }
    kind == "U" { n_calls++; caller[n_calls] = object; callee[n_calls] = symbol }
    END {
      for (i = 1; i <= n_calls; i++) {
        if (!(callee[i] in home)) continue
        from = folder(caller[i])
        to = home[callee[i]]
        fine = from == to || to == "base" || (from in height && to in height &&
          height[to] < height[from]) || (caller[i] ~ /take\/values\.o/ && to == "read") ||
          (from ~ /^(take|track)$/ && to ~ /^(take|track)$/) ||
          (from == "outside" && to ~ /^(read|compare)$/) ||
          (from == "outside" && callee[i] ~ /^lh_lua_50[45]$/) ||
          (from == "mirrored" && to ~ /^(take|read|outside)$/)
        if (!fine) print caller[i] " calls " callee[i] " of lib/" to
      }
    }'
}

check_built() { # build
  for file in "$1/heap.so" "$1/heap/dot.so" "$1/heapsnap.so" "$1/bin/heaptop" "$1/lib/base.o"; do
    [ -e "$file" ] || { report "$file is built" missing; return; }
  done
  report "calls lead down through lib's folders" "$(calls_upwards "$1")"
  report "heap.so is linked to libc only" "$(
    readelf -d "$1/heap.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
      grep -vE '^(libc\.so|ld-linux)')"
  report "heapsnap.so is linked to libc only" "$(
    readelf -d "$1/heapsnap.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
      grep -vE '^(libc\.so|libm\.so|ld-linux)')"
  report "heapsnap.so takes only libc's functions by name" "$(
    nm -D --undefined-only "$1/heapsnap.so" | grep -vE ' (w .*|U .*@GLIBC_[0-9.]*)$')"
  report "heapsnap.so shows only its entry" "$(
    nm -D --defined-only "$1/heapsnap.so" | grep -v ' sqlite3_heapsnap_init$')"
  report "heap.so takes only libc's functions from its host, and Lua's where they are" "$(
    nm -D --undefined-only "$1/heap.so" | grep -vE ' (w .*|U .*@GLIBC_[0-9.]*)$')"
  report "heap.so shows only its entries" "$(
    nm -D --defined-only "$1/heap.so" | grep -vE ' luaopen_heap(_numbers|_reader|_runs|_watch)?$')"
  report "heap/dot.so shows only its entry" "$(
    nm -D --defined-only "$1/heap/dot.so" | grep -v ' luaopen_heap_dot$')"
  report "the tools and heap/dot.so are linked without liblua" "$(
    readelf -d "$1/heap/dot.so" | grep NEEDED | grep -i lua
    for tool in "$1"/bin/*; do
      readelf -d "$tool" | grep NEEDED | grep -i lua
      nm -D --undefined-only "$tool" | grep -E ' luaL?_'
    done)"
  report "only heapattach is linked to what reads ELF" "$(
    for file in "$1"/*.so* "$1"/heap/dot.so "$1"/bin/*; do
      [ "$file" = "$1/bin/heapattach" ] || readelf -d "$file" | grep NEEDED |
        grep -E 'libelf|liblzma' | sed "s|^|$file |"
    done)"
  report "what knows the structures of a release shows only its table" "$(
    for lua in 504 505; do
      nm -g --defined-only "$1/lua$lua.o" | grep -v " lh_lua_$lua\$"
    done)"
  report "the library has no globals but the lists of watchers and of open profiles" "$(
    size -A "$1"/lib/*.o "$1"/lib/*/*.o | awk '$NF ~ /:$/ || /\.o  *:$/ { file = $1 }
      file ~ /\/(take\/watch_signal|track\/track)\.o$/ { next }
      /^\.(data|bss|tdata|tbss)(\.[a-zA-Z_]|[ ])/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 {
        print file, $1, $2 " bytes"
      }')"
}

self_test() {
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  script=$(pwd)/tests/check_seams.sh
  wrong=0
  while IFS='|' read -r file line expected; do
    rm -rf "$copy/tree"
    mkdir "$copy/tree"
    cp -r lib cli lua "$copy/tree"
    printf '%s\n' "$line" >>"$copy/tree/$file"
    out=$(cd "$copy/tree" && "$script")
    case $?:$out in
      1:*"FAIL  $expected"*"$file:"*) ;;
      *) wrong=1; echo "FAIL  not seen in $file: $line" ;;
    esac
  done <<'END'
lib/graph/graph.c|#include "take/raw.h"|only layout, walk and track know Lua's structures
lua/heap.c|#include "raw.h"|only layout, walk and track know Lua's structures
lib/profile/reader.c|#include "track/profile.h"|data flows one way through lib's folders
lib/read/reader.c|#include "profile/format.h"|data flows one way through lib's folders
lib/compare/allocation_counts.c|#include "track/track.h"|data flows one way through lib's folders
lib/name/names.c|#include "rooms/usage.h"|what is below the analyses does not see them
lib/usage/usage.c|#include "report/report.h"|data flows one way through lib's folders
lib/read/reader.c|  #  include "take/writer.h"|data flows one way through lib's folders
lib/graph/flow.c|#include "name/text.h"|data flows one way through lib's folders
lib/graph/flow.c|#include "rooms/analyses.h"|what is below the analyses does not see them
lib/report/leaks_rows.c|bool b = strstr(a, "b");|places decide what belongs together
lib/compare/shared_holders.c|bool b = strcmp(a, "b") == 0;|places decide what belongs together
lib/compare/age.c|bool b = strstr(a, "b");|places decide what belongs together
lib/report/set.c|bool b = strstr(a, "b");|places decide what belongs together
cli/heaptop.c|bool b = strcmp(error->message, "b") == 0;|what an error says decides nothing
lib/report/diff.c|bool b = strcmp(a.text, b.text) == 0;|places decide what belongs together
lib/dot.c|bool b = strstr(a, "b");|a picture looks into no text
lib/outside/stop.c|#include "graph/graph.h"|data flows one way through lib's folders
lib/take/take.c|#include "outside/outside.h"|data flows one way through lib's folders
lib/outside/write_child.c|#include "rooms/report.h"|a snapshot from outside asks for no analysis
lib/outside/write_child.c|#include "take/walk.h"|what looks from outside knows no structures of Lua
lib/outside/core.c|#include "mirrored/mirrored.h"|what looks from outside knows no structures of Lua
lib/mirrored/marks.c|#include "compare/matched.h"|data flows one way through lib's folders
cli/heaptop.c|#include "rooms/outside.h"|only heapattach looks from outside
lib/take/walk.c|#include <sys/ptrace.h>|only what looks from outside sees ptrace and ELF
lib/name/names.c|#include <lua.h>|only files that write see Lua's headers
cli/heaptop.c|#include "lauxlib.h"|only files that write see Lua's headers
lib/take/mark.c|#include "read/snapshot.h"|data flows one way through lib's folders
lib/graph/graph.c|#include "read/record.h"|the analyses never see the file format
lib/graph/flow.c|#include "format.h" /* just this once */|the analyses never see the file format
lib/compare/diff.c|#include "sites.h"|the analyses never see the file format
cli/heaptop.c|#include <sqlite3.h>|only what asks in SQL sees SQLite
cli/heappath.c|#include "heapsql/heapsql.h"|only what asks in SQL sees SQLite
lib/dot.c|#include "sqlite3.h"|only what asks in SQL sees SQLite
cli/heapview/page.c|#include <microhttpd.h>|only server.c sees microhttpd
cli/heapview/page.c|#include <zlib.h>|only static_report.c sees zlib
lib/dot.c|#include <gvc.h>|only picture.c sees gvc
cli/heapview/requests.c|#include "heapview.h"|what strangers send is read by what knows nothing else
cli/heapsnap/table.c|#include "cli.h"|the extension can be loaded without the commands
lib/graph/steps.c|#include <graphviz/cgraph.h>|only what draws sees cgraph
cli/heaptop.c|#include "snapshot.h"|of the library cli sees only the rooms' headers
lua/heap.c|#include "base.h"|of the library lua sees only the rooms' headers
lib/luaheap.h|struct lh_open { int threads; };|the public header shows no fields
lib/compare/diff.c|void f(void) { printf("%d", 1); }|the library neither prints nor exits
lib/compare/diff.c|/* x */ void f(void) { fputs("", stderr); }|the library neither prints nor exits
lib/graph/reach.c|void f(void) { abort(); }|the library neither prints nor exits
lib/graph/graph.c|char *f(void) { return strdup(""); }|only base.c allocates
lib/luaheap.h|int lh_first(lh_snapshot *class);|the public header compiles alone as c++
END
  # A call upwards is seen in objects, so two are made.
  rm -rf "$copy/tree"
  mkdir -p "$copy/tree/lib/read" "$copy/tree/lib/name"
  echo 'int lh_up(void) { return 0; }' >"$copy/tree/lib/name/up.c"
  echo 'int lh_up(void); int lh_down(void) { return lh_up(); }' >"$copy/tree/lib/read/down.c"
  echo 'int lh_base(void) { return 0; }' >"$copy/tree/lib/base.c"
  out=$(cd "$copy/tree" && for source in lib/*.c lib/*/*.c; do
    # shellcheck disable=SC2086 # it may be two words
    ${CC:-cc} -c -o "${source%.c}.o" "$source" || exit
  done && calls_upwards .)
  [ "$out" = "lib/read/down.o: calls lh_up of lib/name" ] ||
    { wrong=1; echo "FAIL  not seen: a call upwards: $out"; }
  report "check_seams sees each rule broken" "$([ $wrong = 0 ] || echo "$copy")"
}

if [ "${1-}" = --self-test ]; then
  self_test
else
  check_sources
  check_header
  [ $# -eq 0 ] || check_built "$1"
fi
echo "check-seams: $passed passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# demo.sh - finds a leak from beginning to end: `make demo`, or examples/demo.sh BUILD.
#
# Runs listener.lua, asks the commands about its snapshots, draws the answer, and writes a page that
# shows all of it. All that is made lies in BUILD/demo. Needs the built tree, Lua 5.4 and Graphviz's
# dot; asks nothing.
set -eu

examples=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$examples/../build}" && pwd)
lua=${LUA:-lua5.4}

rm -rf "$build/demo"
mkdir "$build/demo"
cd "$build/demo"
cp "$examples/listener.lua" .
PATH="$build/bin:$PATH"
LUA_CPATH="$build/?.so;;"
export PATH LUA_CPATH

tell() {
  echo
  cat
}

run() {
  printf '\n    $ %s\n' "$1"
  output=$(sh -c "$1") # ends the demo when it fails
  [ -z "$output" ] || printf '%s\n' "$output" | sed '/./s/^/    /'
}

tell <<'END'
A program grows and grows. Sessions come and go, and something stays: but what, and who holds it?
Three lines were added to it, before the work under suspicion, after it, and a little later:
END
run "tail -n 6 listener.lua"

tell <<'END'
Run it. Each of these lines writes one file:
END
run "$lua listener.lua && ls -l a b c | awk '{print \$5, \"bytes\", \$9}'"

tell <<'END'
What was made between a and b, and is still there in c?
END
run "heapdiff a b c"

tell <<'END'
The culprit's name is in the last column: the bus has all of them on its list. How much of the heap
is that? heaptop reads c alone, where nearly all of them came in one interval, between a and b: so
it says "may grow". Had the work gone on as long after b, it would say "grows", which is certain:
END
run "heaptop -n 5 c"

tell <<'END'
And who keeps one of them alive? From the root down to the object, step by step:
END
run "heappath --format text c Listener"

tell <<'END'
The same as a picture:
END
run "heappath c Listener | dot -Tsvg > why.svg"
run "heappath c Listener | dot -Tpng > why.png"

tell <<'END'
All of that, and more, in a browser: as one file, which needs neither a server nor a network, so it
can be mailed, or kept by continuous integration.
END
run "heapview -o report.html a b c"

tell <<END
Look at it:

    $build/demo/why.svg
    $build/demo/why.png
    $build/demo/report.html

Without -o, "heapview a b c" opens the same page with nothing left out, however big the heap is.

The repair: disconnect() must call bus.off("tick", session.listener). More leaks of other kinds,
each with the commands that find it, are in $examples/README.md
END

#!/bin/sh
# gate.sh - a gate for continuous integration: fails when the work of a program leaves much behind.
#
#     examples/gate.sh PROGRAM.lua [KNOWN]
#
# PROGRAM takes the snapshots a, b and c around its work, as listener.lua does. KNOWN is a file of
# fingerprints that the team has accepted, each with a comment; the report shows those of the rest.
set -eu
program=$(realpath "$1")
known=${2:+$(realpath "$2")}
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
"${LUA:-lua5.4}" "$program"
heapdiff --fingerprints ${known:+--known "$known"} --fail-objects 10 --fail-over 10KB a b c

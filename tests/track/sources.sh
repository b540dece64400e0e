#!/bin/sh
# sources.sh - Debian's source package of Lua 5.4, for truth.sh.
#
#     tests/track/sources.sh OUT      OUT/src has the C files then; exit 1 where there are none
#
# The machine's own list of sources is read, and left as it is: a copy asks for source packages, and
# apt keeps what it learns from these in OUT. What is there already is not asked for again. A mirror
# that does not answer is given up after half a minute.
set -eu

mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$out"
[ ! -f src/lvm.c ] || exit 0
rm -rf -- *
mkdir -p lists/partial cache/archives/partial asked unpacked

# Those of the distribution alone; others may have no source packages at all.
for file in /etc/apt/sources.list.d/*.sources; do
  grep -qE '^URIs:.*(debian|ubuntu)' "$file" || continue
  sed 's/^Types:.*/Types: deb-src/' "$file" >"asked/${file##*/}"
done
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
  sed -nE 's/^deb (.*(debian|ubuntu).*)/deb-src \1/p' >asked/all.list

apt_here() {
  timeout 30 apt-get -qq -o Dir::Etc::sourcelist=/dev/null \
    -o Dir::Etc::sourceparts="$out/asked" -o Dir::State::lists="$out/lists" \
    -o Dir::Cache="$out/cache" -o Acquire::Retries=0 -o Acquire::http::Timeout=10 \
    -o Acquire::https::Timeout=10 -o APT::Sandbox::User="$(id -un)" "$@"
}
apt_here update
apt_here source --download-only lua5.4
tar -xf lua5.4_*.orig.tar.* -C unpacked --strip-components=1
for changes in lua5.4_*.debian.tar.*; do
  [ -f "$changes" ] || continue
  tar -xf "$changes" -C unpacked
  grep -v '^#' unpacked/debian/patches/series | while read -r name; do
    patch -s -d unpacked -p1 <"unpacked/debian/patches/$name" || exit 1
  done
done
[ -f unpacked/src/lvm.c ]
mv unpacked/src src

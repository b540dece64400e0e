#!/bin/sh
# page.sh - puts heapview's page together: one HTML text with its styles, scripts and d3
# inside, as a header for page.c.
#
#     page.sh FOLDER D3 >built_page.h
#
# FOLDER/page.html names the others, each on a line of its own; D3 is what it calls d3.min.js. The
# policy allows each script and each style by its hash, so that nothing else runs, whatever stands
# in a heap; and no text becomes markup but where the policy named picture lets it (page/object.js).
# It is told to the browser by the server, or at the line <!-- policy --> of a report.
set -eu
folder=$1
d3=$2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
scripts=
styles=

# The hash of a file, as a policy has it.
hash_of() {
  hex=$(sha256sum <"$1" | cut -c1-64 | tr a-f A-F)
  printf "'sha256-%s'" "$(printf %s "$hex" | basenc --base16 -d | base64)"
}

# What would end a script early, or begin a comment in it.
refuse() {
  if grep -qiE "<!--|</?(script|style)" "$1"; then
    echo "page.sh: $1 has what ends a script in it" >&2
    exit 1
  fi
}

# A file, with nothing around it, since it is hashed to the byte.
put() { # tag, file
  refuse "$2"
  printf '<%s>' "$1"
  cat "$2"
  printf '</%s>\n' "$1"
}

# Each of our scripts has a scope of its own; what others may use it puts into heapview.
scope() { # file
  echo '(function (heapview) {'
  echo '"use strict";'
  cat "$1"
  echo '})(window.heapview = window.heapview || {});'
}

part="head"
while IFS= read -r line; do
  case $line in
    '<!-- policy -->') part="body" ;;
    '<script type="application/json" id="carried"></script>')
      printf %s "${line%</script>}" >>"$made/$part"
      part="tail"
      echo "</script>" >>"$made/$part" ;;
    '<link rel="stylesheet" href="'*)
      name=${line#*href=\"}
      put style "$folder/${name%%\"*}" >>"$made/$part"
      styles="$styles $(hash_of "$folder/${name%%\"*}")" ;;
    '<script src="'*)
      name=${line#*src=\"}
      case $name in
        d3.min.js*) file=$d3 ;;
        *) file=$made/own && scope "$folder/${name%%\"*}" >"$file" ;;
      esac
      put script "$file" >>"$made/$part"
      scripts="$scripts $(hash_of "$file")" ;;
    *) printf '%s\n' "$line" >>"$made/$part" ;;
  esac
done <"$folder/page.html"

bytes() { # parts
  for name; do cat "$made/$name"; done | wc -c
}

cat <<END
/* Made by cli/generate/page.sh. */
#define PAGE_POLICY \\
  "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:;" \\
  " require-trusted-types-for 'script'; trusted-types picture; style-src$styles;" \\
  " script-src$scripts"
enum { PAGE_POLICY_AT = $(bytes head), PAGE_CARRIED_AT = $(bytes head body) };
static const unsigned char page[] = {
END
cat "$made/head" "$made/body" "$made/tail" | od -An -v -tu1 -w24 | sed 's/  */,/g; s/^,//; s/$/,/'
echo "};"

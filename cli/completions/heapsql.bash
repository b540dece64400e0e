# Completion of heapsql for bash. bash splits --color=always into three words.

_heapsql() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  if [[ $before == --color ]]; then
    words='auto always never'
  elif [[ $before == --timeout || $before == --max-* ]]; then
    return
  elif [[ $current == -* ]]; then
    words='--csv --save --timeout --max-rows --max-memory --json --color -h --help
      --version'
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heapsql heapsql

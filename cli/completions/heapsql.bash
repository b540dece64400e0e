# Completion of heapsql for bash, by `make generated`. bash splits --color=always into three
# words.

_heapsql() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    --timeout) return ;;
    --max-rows) return ;;
    --max-memory) return ;;
    --color) words='auto always never' ;;
    *)
      if [[ $current == -* ]]; then
        words='--csv --save --timeout --max-rows --max-memory --json --color -h --help --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heapsql heapsql

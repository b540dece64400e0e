# Completion of heapview for bash, by `make generated`. bash splits --color=always into three
# words.

_heapview() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    -o | --output) return ;;
    --open) words='auto always never' ;;
    --listen) return ;;
    --port) return ;;
    *)
      if [[ $current == -* ]]; then
        words='-o --output --open --listen --port -h --help --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heapview heapview

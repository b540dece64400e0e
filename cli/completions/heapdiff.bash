# Completion of heapdiff for bash, by `make generated`. bash splits --color=always into three
# words.

_heapdiff() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    -n | --top) return ;;
    --sort) words='retained shallow count' ;;
    --since) return ;;
    --until) return ;;
    --factor) return ;;
    --fail-over) return ;;
    --fail-objects) return ;;
    --color) words='auto always never' ;;
    *)
      if [[ $current == -* ]]; then
        words='-n --top --sort --since --until --factor --ladder --owners --before --after
          --fingerprints --known --fail-over --fail-objects --json --bytes --color -h --help
          --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heapdiff heapdiff

# Completion of heapattach for bash, by `make generated`. bash splits --color=always into three
# words.

_heapattach() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    --state) return ;;
    --every) return ;;
    --max) return ;;
    -d | --directory) 
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    --strings) return ;;
    --color) words='auto always never' ;;
    *)
      if [[ $current == -* ]]; then
        words='-o --output --after --state --list --every --max -d --directory --watch --strings
          --workers --stop --json --bytes --color -h --help --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heapattach heapattach

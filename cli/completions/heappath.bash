# Completion of heappath for bash, by `make generated`. bash splits --color=always into three
# words.

_heappath() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    -k | --paths) return ;;
    --set) return ;;
    --ignore) return ;;
    --cut) return ;;
    -n | --top) return ;;
    --format) words='text dot json' ;;
    --color) words='auto always never' ;;
    *)
      if [[ $current == -* ]]; then
        words='-k --paths --referrers --dominators --set --ignore --cut --what-if -n --top --format
          --json --bytes --color -h --help --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heappath heappath

# Completion of heapprof for bash, by `make generated`. bash splits --color=always into three
# words.

_heapprof() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    -n | --top) return ;;
    --by) words='site function type file stack' ;;
    --live-of) return ;;
    --since) return ;;
    --until) return ;;
    --format) words='text svg csv' ;;
    --every) return ;;
    --color) words='auto always never' ;;
    *)
      if [[ $current == -* ]]; then
        words='-n --top --by --live --peak --leaks --calls --folded --advice --diff --plot
          --blueprint --memprof --lmprof --luamemprofiler --live-of --since --until --format
          --leak-only --every --once --json --bytes --color -h --help --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heapprof heapprof

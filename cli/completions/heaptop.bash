# Completion of heaptop for bash, by `make generated`. bash splits --color=always into three
# words.

_heaptop() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  case $before in
    -n | --top) return ;;
    --sort) words='retained shallow count' ;;
    --by) words='class object epoch site' ;;
    --type) words='table string closure upvalue proto userdata thread' ;;
    --under) return ;;
    --class) return ;;
    --depth) return ;;
    --color) words='auto always never' ;;
    *)
      if [[ $current == -* ]]; then
        words='-n --top --sort --by --type --garbage --leaks --suspects --under --modules --threads
          --class --waste --growing --depth --json --bytes --color -h --help --version'
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _heaptop heaptop

# Completion of heapcheck for bash.

_heapcheck() {
  local current=${COMP_WORDS[COMP_CWORD]} words=
  if [[ $current == -* ]]; then
    words='--json --bytes -h --help --version'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -o filenames -F _heapcheck heapcheck

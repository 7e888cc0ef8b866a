# Completes the command line of attnbench in bash. Made by: attnbench generate bash
_attnbench() {
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
  if [[ ${COMPREPLY[*]} == FILE ]]; then mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"); fi
}
complete -o filenames -F _attnbench attnbench

#compdef attnbench
# Completes the command line of attnbench in zsh. Made by: attnbench generate zsh
# _describe wants a colon between a word and what it is.
_attnbench() {
  local -a found=(${(f)"$("${words[1]}" complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ ${found[*]} == FILE ]]; then _files; return; fi
  found=("${(@)found//:/\\:}")
  found=("${(@)found/$'\t'/:}")
  _describe attnbench found
}
if [[ $funcstack[1] == _attnbench ]]; then _attnbench "$@"; else compdef _attnbench attnbench; fi

# Completes the command line of attnbench in fish. Made by: attnbench generate fish
function __attnbench
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($words[1] complete $words[2..-1] "$current" 2>/dev/null)
  if test "$found" = FILE
    __fish_complete_path "$current"
  else
    string join -- \n $found
  end
end
complete -c attnbench -f -a '(__attnbench)'

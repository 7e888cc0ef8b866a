#!/usr/bin/env bash
# Copies the pages, and the small files that they point to, by the same paths into the folder of an installation:
#
#   scripts/build/install_pages.sh FOLDER
#
# A link to what stays in the sources, such as the journals, becomes its text: it would lead nowhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 1 ] || { echo 'install_pages.sh: usage: install_pages.sh FOLDER' >&2; exit 2; }
folder=$1

pages=(README.md CHANGELOG.md CONTRIBUTING.md results/*.md results/h200/*.md shapes/README.md kernels/example/README.md)
files=(.github/workflows/*.yml kernels/device.h kernels/variants.def kernels/variants/scalar.cu results/*.schema.json scripts/bisect.sh)
for file in kernels/example/*; do
  [ ! -f "$file" ] || [[ $file == *.md ]] || files+=("$file")
done

for file in "${pages[@]}" "${files[@]}"; do
  install -d "$folder/$(dirname "$file")"
  install -m 644 "$file" "$folder/$file"
done

# dead_links PAGE: the targets in it that are not installed, one a line.
dead_links() {
  local target
  { grep -oE '\]\([^)[:space:]]+\)' "$1" || true; } | sort -u | sed 's/^](//; s/)$//' | while read -r target; do
    case $target in '#'* | *:*) continue ;; esac
    [ -e "$(dirname "$1")/${target%%#*}" ] || printf '%s\n' "$target"
  done
}

for page in "${pages[@]}"; do
  dead_links "$folder/$page" | sed 's/[].[*^$|\\]/\\&/g; s/.*/s|!?\\[([^][]*)\\]\\(&\\)|\\1|g/' >"$folder/.dead"
  [ ! -s "$folder/.dead" ] || sed -E -i -f "$folder/.dead" "$folder/$page"
done
rm -f "$folder/.dead"

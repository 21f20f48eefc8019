#!/bin/sh
# Says where lines of Go, C and prose have more than 120 columns; a tab is 4. Rows of Markdown's
# tables and build constraints cannot be broken.
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.go' '*.[ch]' '*.md' | while read -r file; do
	expand -t 4 "$file" | LC_ALL=C.UTF-8 grep -nE '^.{121}' | grep -vE '^[0-9]+:(\||//go:build)' |
		sed "s|^\([0-9]*\):.*|$file:\1: longer than 120 columns|"
done | { ! grep .; }

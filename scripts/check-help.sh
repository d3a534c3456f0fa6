#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-help.sh HUTCH - its help and the man page have the same options
#
# Each verb and each option that one of them tells of, the other does too.
set -eu
hutch=$(realpath "$1")
page=$(dirname "$0")/../man/hutch.1

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

"$hutch" help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$tmp/verbs"
while read -r verb; do
	grep -q "^\.Cm $verb\$" "$page" || echo "$verb" >>"$tmp/missing"
	"$hutch" help "$verb" |
		sed -n 's/^  \(-.,\)\{0,1\} *\(--[a-z-]*\).*/\2/p'
done <"$tmp/verbs" | sort -u >"$tmp/help"
grep -oE '(Fl|,) -[a-z][a-z-]+' "$page" | sed 's/^.* -/--/' |
	sort -u >"$tmp/page"

if [ -s "$tmp/missing" ]; then
	echo "verbs that $page lacks: $(cat "$tmp/missing")" >&2
	bad=1
fi
if ! diff -u "$tmp/help" "$tmp/page" >"$tmp/diff"; then
	echo "the options of hutch help (-) and of $page (+):" >&2
	grep '^[-+]-' "$tmp/diff" >&2
	bad=1
fi
[ "$(wc -l <"$tmp/help")" -ge 20 ] || {
	echo "only $(wc -l <"$tmp/help") options" >&2
	bad=1
}
echo "$(wc -l <"$tmp/verbs") verbs, $(wc -l <"$tmp/help") options"
exit $bad

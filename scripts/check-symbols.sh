#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-symbols.sh LIBRARY - what libhutch exports is what is meant
#
# hutch.h, hutch.map and the library itself must name the same functions: one
# that only the header has cannot be linked, one that only the library has is
# a promise nobody made.
set -eu
lib=$(realpath "$1")
cd "$(dirname "$0")/../host/lib"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Prose names functions as well: only declarations count.
sed '/^ \*/d; /^\/\*/d; /^typedef/d' hutch.h | grep -oE '\bhutch_[a-z0-9_]+\(' |
	tr -d '(' | sort -u >"$tmp/header"
grep -oE '\bhutch_[a-z0-9_]+;' hutch.map | tr -d ';' | sort -u >"$tmp/map"
nm -D --defined-only "$lib" | sed -n 's/.* T \([^@]*\).*/\1/p' |
	sort -u >"$tmp/lib"

for what in header map; do
	if ! diff -u "$tmp/$what" "$tmp/lib" >"$tmp/diff"; then
		echo "$lib does not export what $what says:" >&2
		cat "$tmp/diff" >&2
		exit 1
	fi
done
echo "$(wc -l <"$tmp/lib") functions"

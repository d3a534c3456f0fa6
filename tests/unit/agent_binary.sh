#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# agent_binary.sh AGENT - the agent as it goes into guests: small, static
set -eu

agent=$1
max=$((180 * 1024))

fail() {
	echo "agent_binary: $*" >&2
	exit 1
}

size=$(wc -c <"$agent")
[ "$size" -le $max ] || fail "$size bytes, more than $max"
# A guest has no loader and no library for it.
if ldd "$agent" >/dev/null 2>&1; then
	fail "it is not static"
fi
"$agent" --version | grep -q '^hutch-agent [0-9]' || fail "no --version"
# Anywhere but as the first process it must do nothing, and say so.
if out=$("$agent" 2>&1); then
	fail "it ran as an ordinary process"
fi
case $out in
*"first process of a hutch guest"*) ;;
*) fail "said: $out" ;;
esac
echo "ok: $size bytes of at most $max"

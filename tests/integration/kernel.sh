# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The guest's kernel, asked by a program in the guest

# probe USER: all that kernel_probe asks is there for USER.
probe() {
	start v --cpus 2
	expect 0 hutch exec -i v -- sh -c 'cat >/bin/probe && chmod 755 /bin/probe' \
		<"$(command -v kernel_probe)"
	expect 0 hutch exec --user "$1" v -- /bin/probe
	at_most "$(wc -l <"$out")" "$2" "probes that ran at least"
	hutch stop v
}

test_features_for_uid_0() {
	probe 0:0 36
}

# What rootless containers, bubblewrap and browsers rest on.
test_features_for_a_user() {
	probe 1000:1000 29
}

test_release_name() {
	expect 0 hutch run -- uname -r
	like '^6\.12\.[0-9]+-hutch$' "$(cat "$out")" "kernel release"
}

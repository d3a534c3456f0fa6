# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared folders: hutch run -v and --mount, the virtio-fs device on a real KVM

test_stat_of_a_share() {
	mkdir share
	echo hello >share/file
	expect 0 hutch run -v "$PWD/share:/data" -- \
		sh -c 'stat -c "%n %s %u:%g" /data/file; grep /data /proc/mounts'
	is '/data/file 6 0:0' "$(head -n 1 "$out")" "what stat says"
	like '^hutch0 /data virtiofs rw' "$(cat "$out")" "the mount"
}

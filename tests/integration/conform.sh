# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The rules of POSIX (docs/conformance.md): on each kind of folder that a guest
# has, and on the lab's own disk and an overlay over it, which show what is right

# tried COMMAND...: all rules are as they are said to be.
tried() {
	local code=0

	"$@" >"$out" 2>"$err" || code=$?
	cat "$out" "$err"
	[ $code = 0 ] || fail "'$*' ended with $code"
}

test_share_and_root_keep_the_rules() {
	local one_of

	one_of=$(size 32 1)
	mkdir share image
	cp "$(command -v conform)" image/
	tar -C image -cf image.tar .
	expect 0 hutch image import image.tar rules
	expect 0 hutch start -v ./share:/share v rules
	tried hutch exec v -- /conform --kind share --sample "$one_of" /share
	tried hutch exec v -- /conform --kind root --sample "$one_of" /
	# What is under the root, so it has been tried with that.
	[ "$one_of" != 1 ] || tried hutch exec v -- \
		/conform --kind data /var/lib/hutch/data
	# What the guest's own kernel mends.
	tried hutch exec v -- /conform --kind root / link/one_file_two_names \
		unlink/links_are_counted create/by_several_at_once
	hutch stop v
}

# Setuid, capabilities, ACLs and attributes of an image's files: as they are, in
# copies of them on the disk, there after a stop, and when they are to go.
test_rights_on_the_root_of_an_image() {
	"$HUTCH_TESTS/make_rights.py" layout "$(command -v guest_rights)"
	expect 0 hutch image import layout rights
	expect 0 hutch start v rights
	tried hutch exec v -- /tool image
	tried hutch exec v -- /tool copied
	hutch stop v
	expect 0 hutch start v
	tried hutch exec v -- /tool kept
	tried hutch exec v -- /tool changed
	hutch stop v
}

test_disk_and_overlay_keep_the_rules_root() {
	local one_of

	one_of=$(size 32 1)
	mkdir disk low up work over
	tried conform --kind disk --sample "$one_of" disk
	mount -t overlay over -o lowerdir=low,upperdir=up,workdir=work over
	trap 'umount over' EXIT
	tried conform --kind overlay --sample "$one_of" over
}

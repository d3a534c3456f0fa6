# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What people do with files, on a shared folder and on the root of a VM from an
# image; guest_work.sh does it, in the guest
#
# Few in CI, since a file costs 50 ms of the lab's processor, on a root twice as
# much; and with --long no more than are done in half an hour there. The unit tests
# have more (tests/conform/work.sh).

# work KIND WORD...: in a VM of the image with the tools.
work() {
	local dir=/share

	[ "$1" = share ] || dir=/root
	use_images
	mkdir share
	cp "$(command -v guest_files)" "$HUTCH_TESTS/guest_work.sh" share/
	expect 0 hutch start --memory 1G -v ./share:/share v debian-test
	expect 0 hutch exec -w "$dir" v -- /share/guest_work.sh "$@"
	hutch stop v
}

test_share_tree() {
	work share tree "$(size 60 10000)" "$(size 2 200)"
}

test_root_tree() {
	work root tree "$(size 30 5000)" "$(size 2 200)"
}

test_share_git() {
	work share git "$(size 60 20000)" odd "$(size 60 1000)"
}

test_root_git() {
	work root git "$(size 30 10000)" odd "$(size 30 1000)"
}

test_share_names() {
	work share names "$(size 100 30000)" fio "$(size 1 16)"
}

test_root_names() {
	work root names "$(size 50 15000)" fio "$(size 1 16)"
}

# Of the stressors each has a part in CI; in the unit tests, all.
test_share_sqlite() {
	work share sqlite "$(size 50 20000)" \
		stress 1 "$(size 1/4 1/1)" apt "$(size 10 200)"
}

test_root_sqlite() {
	work root sqlite "$(size 30 20000)" stress 1 "$(size 2/4 1/1)"
}

# (With all packages of the image to look through, dpkg takes a minute a time.)
test_root_apt() {
	work root "$(size apt system)" "$(size 10 1000)"
}

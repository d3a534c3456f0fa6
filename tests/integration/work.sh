# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What people do with files, on a shared folder and on the root of a VM from an
# image; guest_work.sh does it, in the guest
#
# Few in CI, since a file costs 50 ms of the lab's processor, on a root twice as
# much; and with --long what CI's unit tests have (tests/conform/work.sh).

# worker: VM v of the image with the tools, a share at /share, one that is mapped
# at /mapped.
worker() {
	use_images
	mkdir share mapped
	cp "$(command -v guest_files)" "$HUTCH_TESTS/guest_work.sh" share/
	expect 0 hutch start --memory 1G -v ./share:/share \
		-v ./mapped:/mapped:dax=always v debian-test
}

# work share|mapped|root WORD...
work() {
	local dir=/$1 kind=$1

	[ "$kind" != mapped ] || kind=share
	expect 0 hutch exec -w "$dir" v -- /share/guest_work.sh "$kind" "${@:2}"
}

test_tree() {
	worker
	work share tree "$(size 40 3000)" "$(size 2 60)"
	work root tree "$(size 20 1500)" "$(size 1 60)"
	hutch stop v
}

test_git() {
	worker
	work share git "$(size 40 2000)" odd "$(size 40 1000)"
	work root git "$(size 20 1000)" odd "$(size 20 1000)"
	hutch stop v
}

test_names() {
	worker
	work share names "$(size 60 10000)" fio "$(size 1 16)"
	work root names "$(size 30 5000)" fio "$(size 1 16)"
	hutch stop v
}

test_sqlite() {
	worker
	work share sqlite "$(size 30 2000)"
	work root sqlite "$(size 20 2000)"
	hutch stop v
}

test_mapped() {
	worker
	work mapped odd "$(size 20 1000)" fio "$(size 1 16)"
	work mapped sqlite "$(size 10 2000)" stress 1 "$(size 3/16 1/1)"
	hutch stop v
}

# Of the stressors each has a part in CI; in the unit tests, all.
test_stress() {
	worker
	work share stress 1 "$(size 1/8 1/1)"
	work root stress 1 "$(size 2/8 1/1)"
	hutch stop v
}

# In CI dpkg installs in a folder of the root, as with all packages of the image
# to look through it takes a minute a time.
test_apt() {
	worker
	if [ -n "${HUTCH_LONG:-}" ]; then work share apt 200; fi
	work root "$(size apt system)" "$(size 3 200)"
	hutch stop v
}

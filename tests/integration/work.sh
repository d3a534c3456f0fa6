# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What people do with files, on a shared folder; guest_work.sh does it, in the
# guest

# worker: VM v of the image with the tools, a share at /share.
worker() {
	use_images
	mkdir share
	cp "$(command -v guest_files)" "$HUTCH_TESTS/guest_work.sh" share/
	expect 0 hutch start --memory 1G -v ./share:/share v debian-test
}

# work FOLDER KIND WORD...
work() {
	expect 0 hutch exec -w "$1" v -- /share/guest_work.sh "${@:2}"
}

# Few in CI, since making a file takes 25 ms of the lab's processor.
test_files_on_a_share() {
	worker
	work /share share tree "$(size 25 20000)" "$(size 1 600)" \
		git "$(size 25 20000)" sqlite "$(size 50 20000)" \
		odd "$(size 30 1000)" names "$(size 50 100000)"
	hutch stop v
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The place where the other tests run: is it what they think it is?

test_kvm_is_there() {
	[ -c /dev/kvm ] || fail "no /dev/kvm"
	(: <>/dev/kvm) || fail "/dev/kvm cannot be opened by $(id)"
}

test_ordinary_user() {
	[ "$(id -u)" != 0 ] || fail "this pass is meant for an ordinary user"
}

test_all_programs_are_built() {
	local p

	for p in hutch hutch-keeper hutch-net hutch-vmm hutch-agent builtin.cpio; do
		[ -e "$HUTCH_LIBEXEC/$p" ] || fail "no $p in $HUTCH_BUILD"
	done
	[ -n "${HUTCH_KERNEL:-}" ] || fail "HUTCH_KERNEL is not set"
}

test_state_folder_is_on_a_disk() {
	mkdir -p "$HUTCH_STATE"
	case $(stat -f -c %T "$HUTCH_STATE") in
	ext2/ext3 | xfs | btrfs) ;;
	*) fail "the state folder is on $(stat -f -c %T "$HUTCH_STATE")" ;;
	esac
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What build-kernel and check-kernel know of the guest kernel's configuration.
# Sourced after lib.sh.

# kernel_arch_words ARCH: Linux's own name of ARCH, and the image beside
# vmlinux that other monitors and boot loaders take.
kernel_arch_words() {
	case $1 in
	x86_64) echo x86 bzImage ;;
	*) hutch_die "no guest kernel for '$1': this version has x86_64" ;;
	esac
}

# kernel_fragments ARCH: the files that make up the configuration.
kernel_fragments() {
	local dir

	dir=$(hutch_tree)/kernel-config
	printf '%s\n' "$dir/base.config" "$dir/$1.config"
}

# kernel_requested FILE...: what the fragments ask for, one "SYMBOL VALUE" a
# line; VALUE is "n" for "is not set".
kernel_requested() {
	awk '
	/^CONFIG_[A-Z0-9_]+=/ {
		i = index($0, "=")
		print substr($0, 8, i - 8), substr($0, i + 1)
		next
	}
	/^# CONFIG_[A-Z0-9_]+ is not set$/ {
		print substr($2, 8), "n"
		next
	}
	/^#/ || /^$/ { next }
	{
		printf "%s:%d: neither a symbol nor a comment: %s\n",
			FILENAME, FNR, $0 >"/dev/stderr"
		exit 1
	}' "$@"
}

# kernel_lost CONFIG FILE...: each symbol that the fragments ask for and that
# has another value in the final CONFIG, one sentence a line.
kernel_lost() {
	local config=$1

	shift
	kernel_requested "$@" | awk -v config="$config" '
	BEGIN {
		while ((r = getline line <config) > 0) {
			if (line !~ /^CONFIG_/)
				continue
			i = index(line, "=")
			have[substr(line, 8, i - 8)] = substr(line, i + 1)
		}
		if (r < 0) {
			print "cannot read " config
			exit
		}
	}
	{
		want = substr($0, length($1) + 2)
		now = ($1 in have) ? have[$1] : "n"
		if (now != want)
			printf "CONFIG_%s: asked for %s, is %s\n", $1, want, now
	}'
}

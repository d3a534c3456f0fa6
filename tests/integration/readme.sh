# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# README.md keeps its word: its commands run, and print what it says

# The commands of all console blocks, but for the test command itself and the
# lab's (this is run with a lab), and the output that README shows.
script_of() {
	awk '
		/^```console/ { on = 1; next }
		/^```/ { on = 0 }
		on && /^\$ scripts\/(test|lab)/ { next }
		on && /^\$ / { sub(/^\$ /, ""); print "cmd\t" $0; next }
		on { print "out\t" $0 }
	' "$1"
}

test_commands_host() {
	local kind text want='' last='' n=0 code

	# As a person has it: the runner's own settings name what only it has.
	XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(getent passwd "$(id -u)" |
		cut -d: -f6)/.cache}
	export XDG_CACHE_HOME CI=true
	unset HUTCH_KERNEL HUTCH_LIBEXEC HUTCH_STATE
	cd "$HUTCH_TESTS/../.."
	while IFS=$'\t' read -r kind text <&8; do
		if [ "$kind" = out ]; then
			want+=$text$'\n'
			continue
		fi
		[ -z "$last" ] || is "${want%$'\n'}" "$(cat "$out")" "output of '$last'"
		want='' last='' code=0
		echo "running: $text"
		bash -c "$text" >"$out" 2>"$err" || code=$?
		cat "$err"
		n=$((n + 1))
		case $text in
		*'exit 7'*)
			is 7 $code "exit code of '$text'"
			like '^Linux .* x86_64' "$(cat "$out")" "stdout"
			grep -qx err "$err" || fail "no 'err' on stderr"
			;;
		*)
			is 0 $code "exit code of '$text'"
			last=$text
			;;
		esac
	done 8< <(script_of README.md)
	[ -z "$last" ] || is "${want%$'\n'}" "$(cat "$out")" "output of '$last'"
	[ $n -ge 6 ] || fail "README has only $n commands"
}

# Every file README points at exists.
test_links_host() {
	local f

	cd "$HUTCH_TESTS/../.."
	# shellcheck disable=SC2013 # no link has a blank
	for f in $(grep -oE '\]\([^)#]+' README.md HACKING.md docs/*.md |
		sed 's/:](/:/'); do
		[[ ${f#*:} == *://* ]] || [ -e "$(dirname "${f%%:*}")/${f#*:}" ] ||
			fail "${f%%:*} points at ${f#*:}, which is not there"
	done
}

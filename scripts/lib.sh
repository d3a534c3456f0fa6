# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Helpers that the scripts share: messages, the cache, keys, locks, and a
# private apt. Meant for bash under set -eu: . "$(dirname "$0")/lib.sh"
#
# A script says who it is in hutch_me before it sources this file.

hutch_me=${hutch_me:-${0##*/}}

# hutch_note TEXT: one line for a person, on stderr.
hutch_note() {
	printf '%s: %s\n' "$hutch_me" "$*" >&2
}

# hutch_die TEXT: the last line of a script that cannot go on.
hutch_die() {
	hutch_note "$*"
	exit "${hutch_die_code:-1}"
}

# hutch_tree: the project tree, without a trailing slash.
hutch_tree() {
	(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
}

# hutch_cache: the cache folder, made if missing. Everything in it can be
# made anew, so a person may delete it at any time when nothing runs.
hutch_cache() {
	local base=${XDG_CACHE_HOME:-}

	if [ -z "$base" ]; then
		[ -n "${HOME:-}" ] ||
			hutch_die "neither XDG_CACHE_HOME nor HOME is set"
		base=$HOME/.cache
	fi
	case $base in
	/*) ;;
	*) hutch_die "XDG_CACHE_HOME '$base' is not an absolute path" ;;
	esac
	# The lab's ordinary user must be able to read it, whatever the umask.
	(umask 022 && mkdir -p "$base/hutch") ||
		hutch_die "cannot make the cache folder '$base/hutch'"
	[ ! -L "$base/hutch" ] || hutch_die "'$base/hutch' is a symbolic" \
		"link: set XDG_CACHE_HOME to a folder with the room instead"
	(cd "$base" && printf '%s/hutch\n' "$(pwd -P)")
}

# hutch_key [STRING...] [-- FILE...]: 16 hex digits that change when a
# string, or the contents of a file, changes.
hutch_key() {
	local strings=()

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		strings+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	{
		printf '%s\0' "${strings[@]}" end-of-strings
		[ $# -eq 0 ] || sha256sum -- "$@" | cut -d' ' -f1
	} | sha256sum | cut -c1-16
}

# hutch_once LOCKFILE COMMAND...: run COMMAND while no other script holds
# LOCKFILE. COMMAND must look again whether its work is still to be done.
# The lock goes with the process, so a killed script leaves none behind;
# descriptor 9 is closed for what outlives COMMAND by the caller's care.
hutch_once() {
	local lock=$1

	shift
	(
		if ! flock -n 9; then
			hutch_note "waiting for another run to finish"
			flock 9
		fi
		"$@"
	) 9>>"$lock"
}

# hutch_lab_user: "NAME UID GID" of the lab's ordinary user: whoever calls, or if
# that is root a user of its own.
hutch_lab_user() {
	local uid=1000

	if [ "$(id -u)" -ne 0 ]; then
		echo "$(id -un) $(id -u) $(id -g)"
		return 0
	fi
	if getent passwd hutch >/dev/null; then
		uid=$(id -u hutch)
	else
		while getent passwd $uid || getent group $uid; do
			uid=$((uid + 1))
		done >/dev/null
	fi
	echo "hutch $uid $uid"
}

# hutch_images_in DIR: which images, in one word, of scripts/build-images.
hutch_images_in() {
	(cd "$1/store/name" && printf '%s:' "${1##*/}" *)
}

# hutch_has_kvm: is /dev/kvm there, ours to open, and one that can boot an
# ordinary kernel? Without the processor's own help (a KVM of the PVM kind) it
# cannot: such a guest crashes.
hutch_has_kvm() {
	[ -c /dev/kvm ] && (: <>/dev/kvm) 2>/dev/null || return 1
	[ "$(uname -m)" != x86_64 ] ||
		grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo
}

# ---- A private apt -------------------------------------------------------
#
# apt with lists, caches and sources of its own in the cache folder: what the
# machine's own sources say about this Debian release, plus its backports
# (where there are any) and the source packages. The user's sources, lists
# and hooks are left alone; proxies and other Acquire settings are taken
# over. Works as an ordinary user for all but installing.
#
#	hutch_apt_update		fetch the lists, at most once a day
#	hutch_apt get ARGS...		apt-get ARGS...
#	hutch_apt cache ARGS...		apt-cache ARGS...
#	hutch_apt_newest PACKAGE	its newest version, backports included
#	hutch_apt_fetch DIR PACKAGE[=VERSION]...	.debs into DIR
#
# Example, source of the newest kernel:
#	hutch_apt_update
#	cd DIR && hutch_apt get source --download-only linux/bookworm-backports

hutch_codename() {
	# shellcheck source=/dev/null
	(. /etc/os-release && printf '%s\n' "${VERSION_CODENAME:-}")
}

# The machine's own entries for this release as "URI SUITE"; Debian's default
# mirror if it has none that we understand.
hutch_apt_sites() {
	local code=$1 sites

	# shellcheck disable=SC2016 # apt's own variables
	sites=$(apt-get indextargets --format \
		'$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
		2>/dev/null | awk -v c="$code" \
		'($2 == c || index($2, c "-") == 1) && $3 == "main" {
			print $1, $2
		}' | sort -u)
	if ! grep -q " $code\$" <<<"$sites"; then
		sites="http://deb.debian.org/debian $code"
		sites+=$'\n'"http://deb.debian.org/debian $code-updates"
		sites+=$'\n'"http://deb.debian.org/debian-security"
		sites+=" $code-security"
	fi
	printf '%s\n' "$sites"
	# Debian 13 has all we want in main.
	if [ "$code" = bookworm ] &&
	   ! grep -q " $code-backports\$" <<<"$sites"; then
		printf '%s %s\n' "$(awk -v c="$code" \
			'$2 == c { print $1; exit }' <<<"$sites")" \
			"$code-backports"
	fi
}

# Writes the configuration anew, each time: it is cheap, and so a changed
# mirror or proxy is seen.
hutch_apt_config() {
	local dir=$1 code key='' k tmp=new.$BASHPID

	code=$(hutch_codename)
	case $code in
	bookworm | trixie) ;;
	*) hutch_die "this needs Debian 12 or 13, and '${code:-?}' is neither" ;;
	esac
	mkdir -p "$dir/parts" "$dir/lists/partial" "$dir/archives/partial"
	for k in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
		[ ! -e "$k" ] || key="[signed-by=$k] "
	done
	hutch_apt_sites "$code" | awk -v key="$key" \
		'{ print "deb " key $0 " main"; print "deb-src " key $0 " main" }' \
		>"$dir/sources.list.$tmp"
	mv "$dir/sources.list.$tmp" "$dir/sources.list"
	# QEMU and its parts come from the backports, and nothing else unasked.
	cat >"$dir/preferences.$tmp" <<-PREF
	Package: qemu-* seabios ipxe-qemu
	Pin: release n=$code-backports
	Pin-Priority: 900
	PREF
	mv "$dir/preferences.$tmp" "$dir/preferences"
	{
		apt-config dump | grep '^Acquire::' |
			grep -v -e IndexTargets -e '^Acquire::Languages'
		cat <<-CONF
		Acquire::Languages "none";
		APT::Sandbox::User "";
		APT::Install-Recommends "0";
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "$dir/parts";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "$dir/parts";
		Dir::Etc::preferences "$dir/preferences";
		Dir::Etc::preferencesparts "$dir/parts";
		Dir::State::lists "$dir/lists";
		Dir::Cache "$dir";
		CONF
	} >"$dir/apt.conf.$tmp"
	mv "$dir/apt.conf.$tmp" "$dir/apt.conf"
}

hutch_apt() {
	local tool=$1 dir

	shift
	dir=$(hutch_cache)/apt
	[ -e "$dir/apt.conf" ] || hutch_apt_config "$dir"
	APT_CONFIG=$dir/apt.conf "apt-$tool" "$@"
}

hutch_apt_update_locked() {
	local dir=$1

	hutch_apt_config "$dir"
	# What was fetched, and when, is one file: its text and its time.
	if [ -n "$(find "$dir/fetched" -mmin -1440 2>/dev/null)" ] &&
	   cmp -s "$dir/sources.list" "$dir/fetched"; then
		return 0
	fi
	hutch_note "fetching package lists (about 30 MB, kept for a day)"
	hutch_apt get -q update >"$dir/update.log" 2>&1 || {
		cat "$dir/update.log" >&2
		[ -n "$(hutch_apt_newest linux Sources)" ] ||
			hutch_die "apt cannot fetch Debian's package lists"
		hutch_note "going on with those lists that could be had"
	}
	cp "$dir/sources.list" "$dir/fetched.$BASHPID"
	mv "$dir/fetched.$BASHPID" "$dir/fetched"
}

hutch_apt_update() {
	local dir

	dir=$(hutch_cache)/apt
	mkdir -p "$dir"
	hutch_once "$dir/lock" hutch_apt_update_locked "$dir"
}

hutch_apt_newest() {
	hutch_apt cache madison "$1" |
		awk -F'|' -v s="${2:-Packages}" \
		'$3 ~ s "$" { gsub(/ /, "", $2); print $2 }' |
		sort -V | tail -n 1
}

# apt-get download writes to the current folder only.
hutch_apt_fetch() {
	local dir=$1

	shift
	mkdir -p "$dir"
	(cd "$dir" && hutch_apt get -q download "$@" >&2)
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# guest_work.sh - in a guest: work in the current folder, and see that all is right
#
#	guest_work.sh tree N MIB	N files and so much data through tar
#	guest_work.sh git N		clone a repository of N files
#	guest_work.sh sqlite N		two writers of N transactions each
#	guest_work.sh names N M		N files open at once, a folder of M names, and
#					files in odd states
set -euo pipefail

fail() {
	echo "FAILED: $*"
	exit 1
}

# is WANT GOT WHAT
is() {
	[ "$1" = "$2" ] || fail "$3: wanted '$1', got '$2'"
}

# make_tree N MIB: of every type a file can have, where a share has it.
make_tree() {
	local i long

	long=$(printf 'n%.0s' {1..255})
	mkdir -p tree/empty tree/many
	for ((i = 0; i < $1; i++)); do
		[ $((i % 100)) != 0 ] || mkdir "tree/many/$((i / 100))"
		echo "file $i" >"tree/many/$((i / 100))/$i"
	done
	head -c "$2M" /dev/urandom >tree/data
	truncate -s 4M tree/holes
	echo isle | dd of=tree/holes bs=1 seek=3000000 conv=notrunc status=none
	ln tree/data tree/empty/../second
	ln tree/data tree/third
	ln -s data tree/link
	ln -s nowhere/at/all tree/dangling
	echo long >"tree/$long"
	mkfifo -m 640 tree/fifo
	python3 -c 'import socket
socket.socket(socket.AF_UNIX).bind("tree/socket")'
	chmod 1777 tree/empty
	chmod 751 "tree/$long"
	touch -d '1969-12-31 23:59:58.123456789 UTC' tree/third tree/link
	[ "$PWD" = /share ] || {
		mknod tree/null c 1 3
		mknod tree/block b 7 0
		chown 1:2 "tree/$long"
		chmod 4755 tree/data
	}
}

# listing DIR: all that is to come back. (tar keeps no sockets.)
listing() {
	(cd "$1" && find . ! -type s -printf '%p|%y|%m|%n|%l|%U:%G|%s|%T@\n' |
		sed 's/\(|d|.*|\)[0-9]*|/\1|/' | LC_ALL=C sort &&
		find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

tree() {
	make_tree "$1" "$2"
	listing tree >before
	tar -S --format=posix -cf tree.tar tree 2>/dev/null
	mkdir there
	tar -C there --warning=no-timestamp -xf tree.tar
	listing there/tree >after
	cmp before after || fail "$(diff before after | head -n 5)"
	[ "$(stat -c %b there/tree/holes)" -le 1024 ] || fail "holes are filled"
	rm -r tree there tree.tar
}

# A repository of N files, made in one go.
repository() {
	local i

	git init -q -b main --bare from
	{
		printf 'commit refs/heads/main\ncommitter a <a@b> 1 +0000\n'
		printf 'data 1\nx\n'
		for ((i = 0; i < $1; i++)); do
			printf 'M 644 inline d%d/f%d\ndata <<E\n%d\nE\n' \
				$((i / 50)) "$i" "$i"
		done
	} | git -C from fast-import --quiet
}

git_files() {
	repository "$1"
	git clone -q --no-local from clone
	cd clone
	is '' "$(git status --porcelain)" "status of a clone"
	is "$1" "$(git ls-files | wc -l)" "files of it"
	echo changed >>d0/f1
	rm d0/f2
	echo new >new
	is ' M d0/f1| D d0/f2|?? new|' "$(git status --porcelain | tr '\n' '|')" \
		"status of what changed"
	git add -A
	git -c user.name=a -c user.email=a@b commit -qm second
	git fsck --strict --no-progress || fail "git fsck"
	cd ..
	rm -r from clone
}

# inserts WRITER N: each a transaction of its own.
inserts() {
	echo '.timeout 600000'
	seq -f "INSERT INTO t VALUES ('$1', %.0f);" "$2"
}

sqlite() {
	local pids=() w

	is wal "$(sqlite3 db 'PRAGMA journal_mode = WAL;
		CREATE TABLE t (writer, n);')" "journal mode"
	for w in a b; do
		inserts $w "$1" | sqlite3 db &
		pids+=($!)
	done
	for w in "${pids[@]}"; do
		wait "$w" || fail "a writer ended with $?"
	done
	is ok "$(sqlite3 db 'PRAGMA integrity_check;')" "integrity"
	is "$(printf 'a|%s|%s\nb|%s|%s' "$1" "$1" "$1" "$1")" "$(sqlite3 db \
		'SELECT writer, count(*), count(DISTINCT n) FROM t GROUP BY 1')" \
		"rows"
	rm db*
}

names() {
	local tool=/share/guest_files

	mkdir names names/many
	$tool unlinked names/gone
	$tool replace names/HEAD
	$tool sparse names/sparse
	$tool deep names 40
	$tool map names/map
	$tool lock names/lock
	$tool many names "$1"
	seq -f 'names/many/stay-%.0f' 0 $(($2 - 1)) | xargs touch
	$tool list names/many "$2"
	rm -r names
}

case $1 in
tree) tree "$2" "$3" ;;
git) git_files "$2" ;;
sqlite) sqlite "$2" ;;
names) names "$2" "$3" ;;
*) exit 2 ;;
esac

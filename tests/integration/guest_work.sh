#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# guest_work.sh - work in the current folder, and see that all is right
#
# In a guest, or with this machine's kernel as one (tests/conform). The program
# guest_files lies beside it. KIND is what the folder is on: a share, which has
# one owner and no devices; root, that of the system; or root-here, which is
# like one but of no system, and whose hard links go stale (docs/conformance.md).
#
#	guest_work.sh KIND tree N MIB	N files and so much data through tar
#	guest_work.sh KIND git N	clone a repository of N files
#	guest_work.sh KIND sqlite N	two writers of N transactions each
#	guest_work.sh KIND odd N	files in odd states, N open at once
#	guest_work.sh KIND names N	a folder of N names that changes
#	guest_work.sh KIND apt N	a package of N files, installed, replaced by
#					the next, and removed, in a folder
#	guest_work.sh KIND system N	the same, in this system
#	guest_work.sh KIND stress N P/Q	stress-ng, N times what is the least, of
#					Q parts of its stressors the P-th
#	guest_work.sh KIND fio MIB	fio, of each job so much data
#
# More than one WORD and its numbers may follow KIND. All is done in a folder of
# its own, which goes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "FAILED: $*"
	exit 1
}

# is WANT GOT WHAT
is() {
	[ "$1" = "$2" ] || fail "$3: wanted '$1', got '$2'"
}

# make_tree N MIB: of every type a file can have, where there are such.
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
	[ "$kind" = root-here ] || {
		ln tree/data tree/empty/../second
		ln tree/data tree/third
		ln tree/many/0/0 "tree/empty/$long"
	}
	ln -s data tree/link
	ln -s nowhere/at/all tree/dangling
	ln -s "$long" "tree/${long:1}l"
	echo long >"tree/$long"
	mkfifo -m 640 tree/fifo
	python3 -c 'import os, socket
socket.socket(socket.AF_UNIX).bind("tree/socket")
os.setxattr("tree/data", "user.origin", b"here")'
	chmod 1777 tree/empty
	chmod 751 "tree/$long"
	touch -d '1969-12-31 23:59:58.123456789 UTC' tree/data
	touch -hd '1999-12-31 23:59:58.987654321 UTC' tree/link
	[ "$kind" = share ] || {
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
		find . -type f -print0 | LC_ALL=C sort -z |
		xargs -0 sha256sum &&
		python3 -c 'import os
print(os.getxattr("data", "user.origin"))')
}

tree() {
	make_tree "$1" "$2"
	listing tree >before
	tar -S --format=posix --xattrs -cf tree.tar tree 2>/dev/null
	mkdir there
	tar -C there --warning=no-timestamp --xattrs -xpf tree.tar
	listing there/tree >after
	cmp before after || fail "$(diff before after | head -n 5)"
	[ "$(stat -c %b there/tree/holes)" -le 1024 ] || fail "holes are filled"
	rm -r tree there tree.tar before after
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
	# Whoever owns the folder.
	export HOME=$PWD
	printf '[safe]\n\tdirectory = *\n' >.gitconfig
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
	rm -r from clone .gitconfig
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

odd() {
	local tool=$here/guest_files

	mkdir odd
	"$tool" unlinked odd/gone
	"$tool" replace odd/HEAD
	"$tool" sparse odd/sparse
	"$tool" deep odd 40
	"$tool" map odd/map
	"$tool" lock odd/lock
	"$tool" many odd "$1"
	rm -r odd
}

names() {
	mkdir names
	seq -f 'names/stay-%.0f' 0 $(($1 - 1)) | xargs touch
	"$here/guest_files" list names "$1"
	rm -r names
}

# package VERSION N: PWD/VERSION.deb, of N files that tell of it.
package() {
	local i p=package

	mkdir -p $p/DEBIAN $p/opt/hutch-work/{lib,bin} $p/etc/hutch-work
	printf '%s\n' 'Package: hutch-work' "Version: $1" 'Architecture: all' \
		'Maintainer: a <a@b>' 'Description: files' >$p/DEBIAN/control
	echo /etc/hutch-work/conf >$p/DEBIAN/conffiles
	echo "default $1" >$p/etc/hutch-work/conf
	for ((i = 0; i < $2; i++)); do
		echo "file $i of $1" >"$p/opt/hutch-work/lib/$i"
	done
	[ "$kind" = root-here ] ||
		ln $p/opt/hutch-work/lib/0 $p/opt/hutch-work/lib/hard
	ln -s ../lib/0 $p/opt/hutch-work/bin/soft
	printf '#!/bin/sh\necho %s\n' "$1" >$p/opt/hutch-work/bin/version
	chmod 755 $p/opt/hutch-work/bin/version
	echo "of $1" >"$p/opt/hutch-work/only-$1"
	# Scripts run in the system that is installed to.
	[ -n "$system" ] || {
		printf '#!/bin/sh\necho "$*" >>/var/log/hutch-work\n' \
			>$p/DEBIAN/postinst
		chmod 755 $p/DEBIAN/postinst
	}
	dpkg-deb -Znone --root-owner-group -b $p "$1.deb" >/dev/null
	rm -r $p
}

# apt_get WORD...: in the folder $system, if there is one, else in this system.
apt_get() {
	local options=(-q -y -o Debug::NoLocking=1
		-o "APT::Sandbox::User=root" -o "Dir::State::Lists=$PWD/lists")

	[ -z "$system" ] || options+=(-o "Dir::Etc=$system/etc/apt"
		-o "Dir::State=$system/var/lib/apt"
		-o "Dir::Cache=$system/var/cache/apt"
		-o "Dir::State::status=$system/var/lib/dpkg/status"
		-o "DPkg::Options::=--root=$system"
		-o "DPkg::Options::=--force-not-root"
		-o "DPkg::Options::=--log=$system/log")
	DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" "$@" >log 2>&1 ||
		fail "apt-get $*: $(tail -n 20 log)"
}

# installed VERSION N: all of it is there, and only it.
installed() {
	local top=$system/opt/hutch-work

	is "$1" "$(sh "$top/bin/version")" "version"
	is "file 0 of $1" "$(cat "$top/bin/soft")" "by way of a symlink"
	is "$2" "$(find "$top/lib" -type f ! -name hard | wc -l)" "files"
	[ "$kind" = root-here ] ||
		is 2 "$(stat -c %h "$top/lib/hard")" "hard links"
	is "only-$1" "$(cd "$top" && echo only-*)" "files of one version"
	is '' "$(find "$top" -name '*.dpkg-*')" "left-overs"
	is '' "$(dpkg ${system:+"--root=$system"} -V hutch-work)" "checked sums"
}

# apt SYSTEM N: SYSTEM is a folder, or nothing.
apt() {
	local system=$1 ends

	shift
	[ -z "$system" ] || {
		mkdir -p "$system"/var/lib/{dpkg/{info,updates},apt/lists/partial} \
			"$system"/var/cache/apt/archives/partial \
			"$system"/etc/apt/{sources.list.d,preferences.d}
		touch "$system"/var/lib/dpkg/{status,available} \
			"$system/etc/apt/sources.list"
	}
	# Of no other package: to read those of all of Debian takes a minute.
	mkdir -p lists/partial
	package 1 "$1"
	package 2 "$1"
	apt_get install "$PWD/1.deb"
	installed 1 "$1"
	echo mine >"$system/etc/hutch-work/conf"
	apt_get install -o DPkg::Options::=--force-confold "$PWD/2.deb"
	is mine "$(cat "$system/etc/hutch-work/conf")" "what was changed"
	echo default 2 >"$system/etc/hutch-work/conf"
	installed 2 "$1"
	apt_get purge hutch-work
	[ ! -e "$system/opt/hutch-work" ] || fail "there is something left"
	[ ! -e "$system/etc/hutch-work" ] || fail "its settings are left"
	[ -n "$system" ] || {
		ends=$(tr '\n' '|' </var/log/hutch-work)
		is 'configure |configure 1|' "$ends" "calls of a script"
		rm /var/log/hutch-work
	}
	rm -r 1.deb 2.deb log lists ${system:+"$system"}
}

# Stressors of files, each with how much of it is one: most have small counts,
# since some make dozens of files for one. (link and symlink make 8,192, fpunch
# and inode-flags go by the clock, chattr, fiemap and verity are not for FUSE.)
stressors() {
	cat <<-TABLE
	access 1
	aio 20
	chdir 5 --chdir-dirs 64
	chmod 5
	chown 5
	copy-file 1
	dentry 64 --dentries 64
	dir 2 --dir-dirs 64
	dirmany 20
	dnotify 1
	dup 5
	fallocate 1 --fallocate-bytes 1M
	fcntl 5
	file-ioctl 5
	filename 1
	flock 5
	fsize 1
	fstat 5
	getdent 5
	handle 5
	hdd 20 --hdd-bytes 1M --hdd-opts wr-rnd,rd-rnd
	inotify 1
	io-uring 20
	iomix 10 --iomix-bytes 1M
	lease 5
	locka 5
	lockf 5
	lockofd 5
	mknod 5
	mmap 1 --mmap-file --mmap-bytes 1M
	msync 5 --msync-bytes 1M
	open 20
	readahead 20 --readahead-bytes 1M
	rename 20
	revio 5 --revio-bytes 1M
	seek 10 --seek-size 1M
	sendfile 1 --sendfile-size 1M
	sync-file 1 --sync-file-bytes 1M
	touch 20
	utime 20
	xattr 1
	TABLE
	# It makes hard links.
	[ "$kind" = root-here ] || echo dirdeep 2 --dirdeep-inodes 32
}

stress() {
	local words=() name ops more part=${2%/*} of=${2#*/}

	while read -r name ops more; do
		# shellcheck disable=SC2206 # more is words
		words+=("--$name" 1 "--$name-ops" $((ops * $1)) $more)
	done < <(stressors | awk -v p="$part" -v q="$of" 'NR % q == p % q')
	stress-ng --temp-path . --verify --timeout 1h "${words[@]}" >log 2>&1 ||
		fail "stress-ng: $(tail -n 20 log)"
	rm log
}

# By calls, in whole blocks and across them, by a mapping, and by both queues
# that Linux has for it; each byte is compared with what was written.
fio_jobs() {
	cat <<-JOBS
	[global]
	size=$1M
	verify=crc32c
	verify_fatal=1
	verify_state_save=0
	do_verify=1
	randrepeat=1
	[calls]
	ioengine=psync
	rw=randwrite
	bsrange=512-128k
	bs_unaligned=1
	fsync=64
	[mapping]
	ioengine=mmap
	rw=randwrite
	bs=4k
	[aio]
	ioengine=libaio
	direct=1
	iodepth=16
	rw=randrw
	bs=16k
	[io_uring]
	ioengine=io_uring
	iodepth=16
	rw=write
	bs=64k
	JOBS
}

fio_verify() {
	fio_jobs "$1" >fio.jobs
	fio --thread fio.jobs >log 2>&1 || fail "fio: $(tail -n 30 log)"
	is 4 "$(grep -c 'err= 0' log)" "jobs without an error"
	rm fio.jobs log calls.* mapping.* aio.* io_uring.*
}

kind=$1
shift
mkdir guest-work
cd guest-work
while [ $# -gt 0 ]; do
	case $1 in
	tree)
		tree "$2" "$3"
		shift
		;;
	git) git_files "$2" ;;
	sqlite) sqlite "$2" ;;
	odd) odd "$2" ;;
	names) names "$2" ;;
	apt) apt "$PWD/system" "$2" ;;
	system) apt '' "$2" ;;
	stress)
		stress "$2" "$3"
		shift
		;;
	fio) fio_verify "$2" ;;
	*) fail "no work '$1'" ;;
	esac
	shift 2
done
is '' "$(ls -A)" "what is left"
cd ..
rmdir guest-work

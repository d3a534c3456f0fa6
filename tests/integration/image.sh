# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# VMs from images: the root, what runs, the disk over it

# image NAME [CONFIG]: one of busybox, taken in.
image() {
	"$HUTCH_TESTS/make_image.py" "layout.$1" "${2:-{\}}"
	expect 0 hutch image import "layout.$1" "$1"
}

# What of an image is on this host: names, contents, attributes, but no times.
tree_sum() {
	(cd "$HUTCH_STATE"/data/images/id/*/tree && find . -printf '%y %m %s %p\n' |
		LC_ALL=C sort && find . -type f -exec sha256sum {} + |
		LC_ALL=C sort) | sha256sum
}

test_what_docker_would_run() {
	image full '{"Env": ["PATH=/bin", "WHO=image", "KEPT=1"],
		"Entrypoint": ["sh", "-c", "echo $0 $* $WHO $KEPT; pwd; id; exit 9"],
		"Cmd": ["cmd", "words"], "WorkingDir": "/made/for/it",
		"User": "ann:staff"}'
	expect 9 hutch run full
	is "cmd words image 1
/made/for/it
uid=1000(ann) gid=50(staff)" "$(cat "$out")" "the image's own"
	expect 9 hutch run --disk ram -e WHO=me -u 4321 -w /tmp full -- -x --y
	is "-x --y me 1
/tmp
uid=4321 gid=0(root)" "$(cat "$out")" "with words of ours"
	expect 0 hutch run --disk ram --entrypoint ls -u root full /
	is 'bin etc made old root tmp usr' \
		"$(grep -v -E '^(dev|proc|sys|var)$' "$out" | tr '\n' ' ' |
			sed 's/ $//')" "of both layers, the whiteout seen"
	expect 127 hutch run --disk ram --entrypoint none full
	refused 125 "no image" hutch run --pull never absent
}

# A main process that knows what it is told, and says so.
test_stop_signal_is_for_the_main_process() {
	image polite '{"Env": ["PATH=/bin"], "StopSignal": "SIGUSR1",
		"Cmd": ["sh", "-c",
		"trap \"echo asked; exit 5\" USR1; trap \"\" TERM; echo up; while :; do sleep 0.1; done"]}'
	expect 0 hutch start v polite
	expect 0 hutch wait --for line=^up v
	hutch stop v
	expect 0 hutch logs v
	is 'up asked' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "its output"
	is "stopped" "$(field v reason | sed 's/(.*//')" "the reason"
	# Another instead, also when it goes on; and without an image.
	refused 125 "'NO' is no signal" hutch start --stop-signal NO v
	hutch start --stop-signal HUP v polite sh -c 'trap "echo hung up; exit" HUP
		trap "" TERM USR1; echo up; while :; do sleep 0.1; done' >/dev/null
	hutch wait --for line=^up v
	hutch stop v
	hutch start v >/dev/null
	hutch wait --for line=^up v
	is HUP "$(hutch inspect --json v | json 0.stop_signal)" "on record"
	hutch stop v
	expect 0 hutch logs v
	is 'up hung up' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "of HUP"
	expect 0 hutch start --stop-signal 12 w -- \
		sh -c 'trap "echo asked; exit" USR2; echo up; while :; do sleep 0.1; done'
	expect 0 hutch wait --for line=^up w
	hutch stop w
	expect 0 hutch logs w
	is 'up asked' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "of signal 12"
}

test_disk_is_kept_over_stop_and_start() {
	local sum

	image mini '{"Env": ["PATH=/bin"], "Cmd": ["sh"]}'
	image other '{"Env": ["PATH=/bin"], "Cmd": ["ls"]}'
	expect 0 hutch image rm other
	image mini '{"Env": ["PATH=/bin"], "Cmd": ["sh"]}'
	sum=$(tree_sum)
	expect 0 hutch start --disk 64M v mini
	expect 0 hutch exec v -- sh -euc '
		echo changed >>/old/file; chown ann /old/sub; rm /old/doomed
		mv /old/sub /moved; mkdir /old/sub; touch -t 200001010000 /moved/deep
		mkfifo /fifo; mknod /dev0 c 1 3; ln -s nowhere /sym; chmod 4755 /bin/busybox
		ln /moved/deep /hard; echo data >/var/lib/hutch/data/file
		echo synced >/synced; sync /synced
		rm /etc/hosts; mkfifo /etc/hosts
		echo l >/la; ln /la /lb; rm /la; echo m >>/lb; [ "$(wc -l </lb)" = 2 ]'
	hutch stop v
	is '64M' "$(field v disk)" "the disk in the record"
	refused 125 'has a disk' hutch start --disk ram v mini
	refused 125 "disk of VM 'v'" hutch image rm mini

	expect 0 hutch start v
	expect 0 hutch exec v -- sh -euc '
		cat /old/file; stat -c "%n %F %a %U %G %h" /moved /moved/deep /hard \
			/fifo /dev0 /bin/busybox; stat -c "%Y" /moved/deep
		ls /old; ls /old/sub; readlink /sym; cat /var/lib/hutch/data/file'
	is "of the image
changed
/moved directory 755 ann root 1
/moved/deep regular file 644 root root 2
/hard regular file 644 root root 2
/fifo fifo 644 root root 1
/dev0 character special file 644 root root 1
/bin/busybox regular file 4755 root root 1
946684800
file hard link sub
nowhere
data" "$(sed '/^file$/{N;N;N;s/\n/ /g;}' "$out")" "after the next start"
	# As large as it was: and so the guest is told, with nothing lost.
	expect 0 hutch exec v -- sh -c '
		echo more >>/synced; sync /synced
		dd if=/dev/zero of=/big bs=1M count=80 2>&1 | grep -o "No space.*"
		cat /old/file | head -n 1; df -k / | tail -n 1'
	like "No space left on device of the image overlay +65536 .* 0 100% " \
		"$(tr '\n' ' ' <"$out")" "a disk that is full"
	# A monitor that is killed: what was synced is there, and the VM starts;
	# and though the disk is full a file of the image can go, and then all.
	kill -9 "$(field v monitor)"
	retry 60 has v state stopped
	expect 0 hutch start v
	expect 0 hutch exec v -- sh -euc '
		cat /synced; echo x 2>&1 >>/new || true; rm /old/hard; ls /old
		mv /moved/deep /moved/deeper; rm /big; echo new >/new; cat /new'
	is 'synced more sh: write error: No space left on device file link sub new' \
		"$(tr '\n' ' ' <"$out" | sed 's/ $//')" "a full disk after a start"
	hutch stop v
	# None of it has touched the image.
	is "$sum" "$(tree_sum)" "the image"
	expect 0 hutch run --disk ram mini sh -c 'cat /old/file; ls /old'
	is 'of the image doomed file hard link sub' \
		"$(tr '\n' ' ' <"$out" | sed 's/ $//')" "another VM's view"
	hutch rm v
	[ ! -e "$HUTCH_STATE/state/v" ] || fail "something of it is left"
	expect 0 hutch image rm mini
}

# Named ones, and those of the image: folders that are not under the overlay.
test_volumes() {
	image vols '{"Env": ["PATH=/bin"], "Volumes": {"/old/sub": {}, "/new/er//": {}}}'
	expect 0 hutch volume create b.ox cache
	expect 0 hutch start -v data:/old -v cache:/cache v vols
	expect 0 hutch exec v -- sh -euc '
		[ "$(stat -c %h /old/file)" = 2 ]
		stat -c "%n %U:%g %a" /old /old/file /cache; cat /old/sub/deep
		grep -E " /(old|old/sub|new/er|cache) " /proc/mounts | cut -d" " -f1-3
		chown ann /cache; echo of v >/cache/f; rm /old/doomed; echo n >/new/er/f'
	is "/old root:0 755
/old/file ann:50 640
/cache root:0 755
deep" "$(head -n 4 "$out")" "what they are filled with"
	is 'hutch-disk /new/er virtiofs
hutch-disk /old/sub virtiofs
hutch0 /cache virtiofs
hutch1 /old virtiofs' "$(tail -n 4 "$out" | sort)" "how they are mounted"
	refused 125 'in use' hutch volume rm data
	# Another VM has the same at the same time, and what has been changed.
	expect 0 hutch run --rm --disk ram -v data:/d:ro -v cache:/c vols sh -c '
		ls /d; stat -c %U /c; cat /c/f; echo of w >>/c/f; touch /d/x 2>&1 || true'
	is 'file hard link sub ann of v touch: /d/x: Read-only file system' \
		"$(tr '\n' ' ' <"$out" | sed 's/ $//')" "what another VM sees"
	retry 30 sh -c 'hutch exec v -- cat /cache/f | grep "of w"'
	# The image's names, those of the VM's user, and ours once.
	hutch exec v -- sh -c 'echo "10.9.8.6 mine" >>/etc/hosts'
	hutch stop v
	refused 125 "by VM 'v', which is stopped" hutch volume rm data
	expect 0 hutch start --hostname other v
	expect 0 hutch exec v -- sh -c 'cat /new/er/f; ls /cache /old | wc -l
		cat /etc/hosts'
	is 'n' "$(sed -n 1p "$out")" "the image's volume after a stop"
	is '10.9.8.7 db
10.9.8.6 mine
127.0.0.1 localhost # hutch
::1 localhost ip6-localhost ip6-loopback # hutch
127.0.1.1 other # hutch' "$(tail -n +3 "$out" | tr '\t' ' ')" "/etc/hosts"
	hutch rm -f v
	is 'b.ox cache data' "$(hutch volume ls -q | tr '\n' ' ' | sed 's/ $//')" "list"
	is data "$(hutch volume list --json | json 2.name)" "in JSON"
	expect 0 hutch volume rm data cache b.ox
	is '' "$(hutch volume list -q)" "after removal"
}

# A volume with a size is a disk of that size: full is full, and stays so.
test_volumes_with_a_size() {
	local free

	image vols '{"Env": ["PATH=/bin"]}'
	refused 125 'at least 1M' hutch volume create --size 64K v
	refused 125 '--size' hutch volume create --size much v
	expect 0 hutch volume create --size 8M v
	refused 125 'another size' hutch volume create --size 9M v
	expect 0 hutch start -v v:/v a vols
	expect 0 hutch exec a -- sh -euc '
		df -k /v | tail -n 1 | tr -s " " | cut -d" " -f2
		dd if=/dev/zero of=/v/big bs=64K count=200 2>/dev/null && exit 9
		stat -c %s /v/big | grep -qE "^8[0-9]{6}$"
		echo x >/v/more 2>/dev/null && [ -s /v/more ] && exit 8
		df -k /v | tail -n 1 | tr -s " " | cut -d" " -f4
		echo kept >/etc/x; truncate -s 3M /v/big; echo some >/v/small'
	is 8192 "$(sed -n 1p "$out")" "its size"
	free=$(sed -n 2p "$out")
	at_most 16 "$free" "KiB left"
	is 8388608 "$(hutch volume ls --json | json 0.size)" "size in JSON"
	like '^v +.* 8M +3.0M +yes$' "$(hutch volume ls)" "the list"
	refused 125 'in use by another VM' hutch run -v v:/v vols true
	hutch stop a
	expect 0 hutch start a
	expect 0 hutch exec a -- sh -euc 'cat /v/small
		dd if=/dev/zero of=/v/big2 bs=64K count=100 2>/dev/null && exit 9
		rm /v/big /v/big2; dd if=/dev/zero of=/v/big3 bs=64K count=100 2>&1'
	like '^some' "$(cat "$out")" "what was there"
	hutch rm -f a
	# Counted by another who was killed, by nobody.
	expect 0 hutch run --rm -v v:/w vols sh -c 'df -k /w | tail -n 1 | tr -s " " |
		cut -d" " -f2; ls /w'
	is '8192 big3 small ' "$(tr '\n' ' ' <"$out")" "another VM"
	expect 0 hutch volume rm v
}

# What is not under the overlay can have one over it, in memory and on a disk.
test_data_folder_takes_an_overlay() {
	local disk

	image mini '{"Env": ["PATH=/bin"]}'
	for disk in --disk=ram --rm; do
		expect 0 hutch run "$disk" mini sh -euc '
			cd /var/lib/hutch/data; mkdir l u w m; echo low >l/f
			mount -t overlay -o lowerdir=l,upperdir=u,workdir=w o m
			cat m/f; rm m/f; ls u; stat -c %t:%T u/f'
		is 'low f 0:0' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "$disk"
	done
	expect 0 hutch run -- stat -f -c %T /var/lib/hutch/data
	like 'tmpfs|ramfs' "$(cat "$out")" "of the built-in root"
}

test_many_vms_share_one_image() {
	local n i sum

	n=$(size 4 50)
	image mini '{"Env": ["PATH=/bin"]}'
	sum=$(tree_sum)
	for ((i = 0; i < n; i++)); do
		hutch start -m 64M "v$i" mini >/dev/null
	done
	for ((i = 0; i < n; i++)); do
		expect 0 hutch exec "v$i" -- sh -c \
			"echo $i >>/old/file; rm /old/doomed; cat /old/file"
		is "of the image $i" "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "v$i"
	done
	refused 125 'disk of VM' hutch image rm mini
	is "$sum" "$(tree_sum)" "the image under all of them"
	for ((i = 0; i < n; i++)); do
		hutch rm -f "v$i" >/dev/null
	done
	expect 0 hutch image rm mini
}

# works_or_says PATTERN COMMAND...: it succeeds; or all it has to say is one
# sentence that matches PATTERN, and this fails.
works_or_says() {
	local pattern=$1 code=0

	shift
	"$@" >"$out" 2>"$err" || code=$?
	[ $code != 0 ] || return 0
	is 125 $code "exit code of '$*': $(cat "$err")"
	is 1 "$(wc -l <"$err")" "sentences of '$*': $(cat "$err")"
	like "$pattern" "$(cat "$err")" "'$*'"
	echo "# $(cat "$err")"
	return 1
}

# kept_on DIR: a share, volumes and a disk there; tells which of the last two are.
kept_on() {
	local dir=$1 here='' images=$HUTCH_STATE/data/images

	# All but sockets, and images, which have a place of their own.
	export HUTCH_STATE=$dir/hutch
	mkdir -p "$dir/share" "$HUTCH_STATE/data" "run.${dir##*/}"
	ln -s "$images" "$HUTCH_STATE/data/images"
	ln -s "$PWD/run.${dir##*/}" "$HUTCH_STATE/run"
	expect 0 hutch run -v "$dir/share:/d" -- sh -euc '
		echo one >/d/a; mv /d/a /d/b; echo two >>/d/b; ln /d/b /d/c; mkdir /d/e
		chmod 710 /d/e; ln -s b /d/l; stat -c "%h %s" /d/b; cat /d/l
		mv /d/c /d/e/; rm /d/b; ls -A /d /d/e; stat -c %a /d/e'
	is '2 8 one two /d: e l /d/e: c 710' "$(xargs <"$out")" "a share"
	if works_or_says 'attributes' hutch volume create --size 4M v; then
		here=volume
		expect 0 hutch run --rm -v v:/v -- sh -euc '
			mknod /v/n c 1 3; ln -s nowhere /v/s; echo x >/v/f
			chown 7:8 /v/f; chmod 4711 /v/f; ln /v/f /v/g; mv /v/g /v/h
			dd if=/dev/zero of=/v/z bs=64K count=100 2>/dev/null && exit 9
			rm /v/z; stat -c "%n %F %u %g %a %h" /v/*; readlink /v/s'
		is '/v/f regular file 7 8 4711 2
/v/h regular file 7 8 4711 2
/v/n character special file 0 0 644 1
/v/s symbolic link 0 0 777 1
nowhere' "$(cat "$out")" "a volume"
		expect 0 hutch volume rm v
	fi
	if works_or_says 'upper layer|attributes' hutch start k small; then
		here="$here disk"
		expect 0 hutch exec k -- sh -euc 'echo kept >/etc/x; rm /file'
		hutch stop k
		expect 0 hutch start k
		expect 0 hutch exec k -- sh -c 'cat /etc/x; ls /file'
		is kept "$(cat "$out")" "a disk"
	fi
	hutch rm -f k 2>/dev/null || true
	echo "on $(stat -f -c %T "$dir"): $here" | tee -a places
}

# What the host's file system cannot do is said at the start, not by an EIO.
test_file_systems_of_the_host_root() {
	local p9=''

	image small '{"Env": ["PATH=/bin"]}'
	# The lab's cache, its root, which lies in memory, and one over a disk.
	p9=$(awk '$1 == "cache" && $3 == "9p" { print $2 }' /proc/mounts)
	p9=$(mktemp -d "$p9/hutch-test.XXXXXX")
	mkdir low up work over
	mount -t overlay over -o lowerdir=low,upperdir=up,workdir=work over
	# shellcheck disable=SC2064 # as it is now
	trap "umount -l over; rm -rf '$p9' /hutch-test.memory" EXIT
	(kept_on "$p9")
	(kept_on "$PWD/over")
	(kept_on /hutch-test.memory)
	cat places
	like 'on overlayfs: volume$' "$(cat places)" "what an overlay over ext4 is for"
}

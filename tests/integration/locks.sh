# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# locks=host: two VMs and the host take turns at one file

# turns KIND: with flock or fcntl.
turns() {
	local kind=$1 n i
	# shellcheck disable=SC2016 # the shell's that has the lock
	local step='read -r n </data/count; echo $((n + 1)) >/data/count'

	n=$(size 8 150)
	rm -f share/got share/held
	echo 0 >share/count

	# The host has it: nobody in a VM does, and who wants to wait waits.
	guest_tool lock "$kind" wait share/lock sh -c \
		'echo >here; exec sleep 1000' &
	retry 30 test -e here
	expect 1 hutch exec a -- /data/tool lock "$kind" try /data/lock true
	expect 0 hutch exec -d --name "w-$kind" a -- /data/tool lock "$kind" \
		wait /data/lock sh -c 'echo got >/data/got'
	# The folder is as quick as ever for others.
	expect 0 hutch exec a -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do
		echo $i >/data/other; cat /data/other; done'
	[ ! -e share/got ] || fail "it did not wait"
	kill $!
	expect 0 hutch wait a "w-$kind"
	is got "$(cat share/got)" "who waited"
	rm here

	# A VM has it, and what has it is killed.
	expect 0 hutch exec -d --name "h-$kind" b -- /data/tool lock "$kind" \
		wait /data/lock sh -c 'echo held >/data/held; sleep 1000'
	retry 30 test -s share/held
	expect 1 guest_tool lock "$kind" try share/lock true
	expect 1 hutch exec a -- /data/tool lock "$kind" try /data/lock true
	expect 0 hutch kill -s KILL b "h-$kind"
	expect 0 guest_tool lock "$kind" wait share/lock true

	# A count that three write to, none of which may lose a step.
	for i in a b; do
		expect 0 hutch exec -d --name "add-$kind" $i -- sh -c "
			i=0; while [ \$i -lt $n ]; do i=\$((i + 1))
			/data/tool lock $kind wait /data/lock sh -c '$step' ||
				exit 1; done"
	done
	for ((i = 0; i < n; i++)); do
		guest_tool lock "$kind" wait share/lock \
			sh -c "${step//\/data/share}"
	done
	expect 0 hutch wait a "add-$kind"
	expect 0 hutch wait b "add-$kind"
	is $((3 * n)) "$(cat share/count)" "steps of three"
}

test_vms_and_the_host_take_turns() {
	mkdir share
	cp "$(command -v guest_tool)" share/tool
	start a -v "$PWD/share:/data:locks=host"
	start b --mount "type=bind,src=$PWD/share,dst=/data,locks=host"
	expect 0 hutch inspect a
	like '^mount +.*:/data:locks=host$' "$(cat "$out")" "inspect"
	turns flock
	turns fcntl
	hutch kill a
	hutch kill b
}

# waiter NAME KIND: runs in VM a, and waits by now for what the host has.
waiter() {
	expect 0 hutch exec -d --name "$1" a -- /data/tool lock "$2" wait \
		/data/lock true
	expect 0 hutch exec a -- true
}

# The host keeps its locks all the while: nobody would end otherwise.
test_who_waits_can_be_killed() {
	local kind

	mkdir share
	cp "$(command -v guest_tool)" share/tool
	: >share/lock
	: >one
	start a -v "$PWD/share:/data:locks=host" -v "$PWD/one:/one:locks=host"
	for kind in flock fcntl; do
		guest_tool lock $kind wait share/lock sh -c \
			"echo >here.$kind; exec sleep 1000" &
		retry 30 test -e here.$kind
	done
	guest_tool lock flock wait one sh -c 'echo >here.one; exec sleep 1000' &
	retry 30 test -e here.one

	# By a signal that is its end, by SIGKILL, and by its time-out.
	for kind in flock fcntl; do
		waiter "t-$kind" $kind
		expect 0 hutch kill -s TERM a "t-$kind"
		expect 143 hutch wait a "t-$kind"
		waiter "k-$kind" $kind
		expect 0 hutch kill -s KILL a "k-$kind"
		expect 137 hutch wait a "k-$kind"
		expect 124 hutch exec --timeout 1s a -- \
			/data/tool lock $kind wait /data/lock true
	done
	# A child of it, in another session, with its root elsewhere.
	expect 124 hutch exec --timeout 1s a -- sh -c \
		'setsid chroot / /data/tool lock flock wait /data/lock true &
		wait'
	# A share of one file, and one that is covered.
	expect 124 hutch exec --timeout 1s a -- \
		/data/tool lock flock wait /one true
	expect 124 hutch exec --timeout 1s a -- sh -c 'exec 3</data/lock
		cp /data/tool /tmp/tool; mount -t tmpfs none /data
		exec /tmp/tool lock flock wait /proc/self/fd/3 true'
	expect 0 hutch exec a -- umount /data
	# Nobody else was: who ignores the signal waits on.
	expect 0 hutch exec -d --name deaf a -- sh -c "trap '' TERM
		echo >/data/deaf; exec /data/tool lock flock wait /data/lock true"
	retry 120 test -e share/deaf
	expect 0 hutch kill -s TERM a deaf
	expect 124 hutch exec --timeout 1s a -- \
		/data/tool lock flock wait /data/lock true
	kill %1
	expect 0 hutch wait a deaf

	# The end of the VM waits for nobody.
	waiter last fcntl
	expect 0 hutch stop a
	is stopped "$(field a reason)" "the VM's end"
	kill %2 %3
	wait
}

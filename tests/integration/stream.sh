# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Bytes through hutch exec: all of them, in order, and no more than fit

test_stdout_equals_its_source() {
	local mib want

	mib=$(size 16 50)
	start v
	hutch exec v -- dd if=/dev/urandom of=/tmp/f bs=1M count="$mib" 2>/dev/null
	want=$(hutch exec v -- sha256sum /tmp/f | cut -d' ' -f1)
	hutch exec v -- cat /tmp/f >got
	is $((mib << 20)) "$(stat -c %s got)" "bytes"
	is "$want" "$(sha256sum got | cut -d' ' -f1)" "sha256"
	hutch stop v
}

test_through_stdin_of_cat() {
	local mib

	mib=$(size 16 50)
	head -c "${mib}M" /dev/urandom >source
	start v
	hutch exec -i v -- cat <source >got
	cmp source got
	hutch stop v
}

test_stderr_is_as_good() {
	start v
	head -c 1M /dev/urandom >source
	hutch exec -i v -- sh -c 'cat >&2' <source 2>got >none
	cmp source got
	is 0 "$(stat -c %s none)" "bytes on stdout"
	hutch stop v
}

test_head_of_yes_ends_at_once() {
	local code=0

	start v
	set +o pipefail
	hutch exec v -- yes | head -c 1M >got
	code=${PIPESTATUS[0]}
	set -o pipefail
	is 1048576 "$(stat -c %s got)" "bytes"
	# SIGPIPE, as it would be without a VM in between.
	is 141 "$code" "exit code of exec"
	retry 30 none_of v yes
	hutch stop v
}

# steady: the writer in the guest has got no further since the last look.
steady() {
	local now

	now=$(hutch exec v -- cat /tmp/n) || return 1
	[ -n "$now" ] && [ "$now" = "${last:-}" ] && return 0
	last=$now
	sleep 1
	return 1
}

# The whole way down: reader, hutch, monitor, guest's pipe, writer.
test_slow_reader_stops_the_writer() {
	local vmm before after last=

	start v
	vmm=$(field v monitor)
	expect 0 hutch exec v -- true
	before=$(memory_kib "$vmm")
	mkfifo pipe
	hutch exec v -- sh -c 'i=0; echo 0 >/tmp/n
		while dd if=/dev/zero bs=64k count=1 2>/dev/null; do
			i=$((i + 1)); echo $i >/tmp/n
		done' >pipe &
	exec 7<pipe
	retry 60 steady
	# What all buffers on the way may hold together, in 64 KiB.
	at_most 400 "$last" "chunks written into a pipe that nobody reads"
	after=$(memory_kib "$vmm")
	at_most 20480 $((after - before)) "KiB the monitor has grown by"
	# It goes on when the reader does.
	head -c $((last * 65536 + (1 << 20))) <&7 >got
	is "0" "$(tr -d '\0' <got | wc -c)" "bytes that are not what was written"
	retry 60 more_than "$last"
	exec 7<&-
	wait || true
	hutch stop v
}

more_than() {
	[ "$(hutch exec v -- cat /tmp/n)" -gt "$1" ]
}

# The monitor's memory stays flat under a bulk stream at full speed.
test_memory_stays_flat() {
	local vmm before after

	start v
	vmm=$(field v monitor)
	hutch exec v -- head -c 4m /dev/zero >/dev/null
	before=$(memory_kib "$vmm")
	hutch exec v -- head -c "$(size 32 256)m" /dev/zero >/dev/null
	after=$(memory_kib "$vmm")
	at_most 2048 $((after - before)) "KiB the monitor has grown by"
	hutch stop v
}

# A small one gets through while a bulk stream runs.
test_bulk_does_not_starve_others() {
	local pid i

	start v
	hutch exec v -- cat /dev/zero >/dev/null &
	pid=$!
	for i in 1 2 3 4 5; do
		is "$i" "$(hutch exec v -- echo "$i")" "output beside a bulk stream"
	done
	alive $pid || fail "the bulk stream has ended"
	kill $pid
	wait $pid || true
	hutch stop v
}

# Closed stdin is an end of file; closed stdout is not an end of the command.
test_half_closed() {
	start v
	is 6 "$(printf abcdef | hutch exec -i v -- wc -c | tr -d ' ')" "bytes"
	expect 0 hutch exec v -- sh -c 'exec >&-; exec 2>&-; sleep 1; touch /tmp/done'
	expect 0 hutch exec v -- test -e /tmp/done
	hutch stop v
}

test_order_within_a_stream() {
	start v
	hutch exec v -- seq 1 200000 >got
	seq 1 200000 | cmp - got
	hutch stop v
}

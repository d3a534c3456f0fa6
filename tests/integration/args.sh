# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Bad arguments: each one sentence and a proper code, and no VM. All else in
# each of these command lines is sound.

test_run_refuses_bad_options() {
	refused 125 'no-such-flag' hutch run --no-such-flag -- true
	refused 125 'memory.*1M' hutch run --memory 1M -- true
	refused 125 'memory.*(100T|109951162777600)' hutch run --memory 100T -- true
	refused 125 'memory.*lots' hutch run --memory lots -- true
	refused 125 'cpus.*0' hutch run --cpus 0 -- true
	refused 125 'cpus.*1000' hutch run --cpus 1000 -- true
	refused 125 'cpus.*-1' hutch run --cpus -1 -- true
	refused 125 'timeout.*soon' hutch run --timeout soon -- true
	refused 125 'Not-A-Name' hutch run --name Not-A-Name -- true
	refused 125 'env' hutch run --env =x -- true
	refused 125 'nofile' hutch run --env-file /nofile -- true
	refused 125 'command' hutch run --
	is "" "$(hutch list -q)" "VMs that were made"
	is 0 "$(hutch run --memory 64M -- true; echo $?)" "a sound one"
}

test_verbs_refuse_unknown_names() {
	local v

	for v in 'exec nobody -- true' 'stop nobody' 'kill nobody' \
		'inspect nobody' 'logs nobody' 'rm nobody'; do
		# shellcheck disable=SC2086 # words
		refused 125 nobody hutch $v
	done
	refused 125 'frobnicate' hutch frobnicate
	refused 125 "name" hutch start 'Bad_Name'
	refused 125 "name" hutch start "$(printf 'a%.0s' $(seq 64))"
	refused 125 "name" hutch start ../../etc
	expect 0 hutch list
}

test_name_in_use() {
	start v
	refused 125 "v.*(use|runs|running|alive|exists)" hutch start v
	refused 125 "v.*(use|runs|running|alive|exists)" hutch run --name v -- true
	refused 125 'v' hutch rm v
	is running "$(field v state)" "state of the first"
	expect 0 hutch exec v -- true
	hutch stop v
}

# The kernel file: not there, not readable, not a kernel, cut, empty.
test_bad_kernels() {
	local k f

	k=$HUTCH_KERNEL
	head -c 1000000 "$k" >short
	head -c 100 "$k" >header
	: >empty
	head -c 1M /dev/urandom >noise
	echo '#!/bin/sh' >script
	mkdir folder
	for f in nothing short header empty noise script folder; do
		HUTCH_KERNEL=$PWD/$f
		refused 125 "$f" hutch run -- true
		refused 2 "$f" hutch-vmm --kernel "$f" --memory 64M
	done
	HUTCH_KERNEL=$k
	expect 0 hutch run -- true
}

test_monitor_refuses_bad_options() {
	local k=(--kernel "$HUTCH_KERNEL")

	refused 2 'kernel' hutch-vmm
	refused 2 'no-such-flag' hutch-vmm "${k[@]}" --no-such-flag
	refused 2 'memory.*1M' hutch-vmm "${k[@]}" --memory 1M
	refused 2 'memory.*100T' hutch-vmm "${k[@]}" --memory 100T
	refused 2 'cpus.*0' hutch-vmm "${k[@]}" --cpus 0
	refused 2 'cpus.*1000' hutch-vmm "${k[@]}" --cpus 1000
	refused 2 'cmdline' hutch-vmm "${k[@]}" --cmdline "$(printf 'a%.0s' $(seq 100000))"
	refused 2 'nofile' hutch-vmm "${k[@]}" --initrd nofile
	refused 2 'nofile' hutch-vmm "${k[@]}" --agent nofile
	refused 2 'lifeline.*77' hutch-vmm "${k[@]}" --lifeline fd=77
	refused 2 '/no/such' hutch-vmm "${k[@]}" --control /no/such/folder/s
	refused 2 'stray' hutch-vmm "${k[@]}" stray
	refused 1 '67108864.*ulimit' \
		bash -c 'ulimit -f 1000 && exec "$@"' - \
		hutch-vmm "${k[@]}" --memory 64M
}

# As many bytes as a command line may have here, and then some.
test_long_command_lines() {
	local big args=() i

	big=$(head -c 65536 /dev/zero | tr '\0' a)
	for i in $(seq 16); do args+=("$big"); done
	start v
	expect 0 hutch exec v -- sh -c 'echo $#' sh "${args[@]}"
	is 16 "$(cat "$out")" "arguments of a 1 MiB command line"
	args=()
	for i in $(seq 5000); do args+=("$i"); done
	expect 0 hutch exec v -- sh -c 'echo $#' sh "${args[@]}"
	is 5000 "$(cat "$out")" "arguments"
	hutch stop v
}

test_no_permission_on_kvm_root() {
	local dir as=(setpriv --reuid 65534 --regid 65534 --clear-groups)

	# Nothing else may stand in nobody's way.
	chmod 755 "$(dirname "$HUTCH_LIBEXEC")"
	chmod -R a+rX "$HUTCH_LIBEXEC" "$(dirname "$HUTCH_KERNEL")"
	dir=$(mktemp -d /tmp/nobody.XXXXXX)
	# shellcheck disable=SC2064 # this folder
	trap "rm -rf '$dir'" EXIT
	chown 65534:65534 "$dir"
	export HOME=$dir HUTCH_STATE=$dir/s
	cd "$dir"
	! "${as[@]}" sh -c ': <>/dev/kvm' 2>/dev/null ||
		fail "nobody may open /dev/kvm here"
	refused 125 '/dev/kvm' "${as[@]}" hutch run -- true
	refused 1 '/dev/kvm' "${as[@]}" hutch-vmm \
		--kernel "$HUTCH_KERNEL" --memory 64M
	expect 125 "${as[@]}" hutch doctor
	like '/dev/kvm' "$(cat "$out")" "what doctor says"
}

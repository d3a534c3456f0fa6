# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A container engine in a VM, with what it keeps in the folder under no overlay

# From nothing and with no network: overlay over a mapped share, conmon, crun,
# seccomp, cgroups, and the exit code all the way out.
test_podman_builds_and_runs_from_scratch() {
	use_images
	mkdir context
	cp "$(command -v busybox)" context/busybox
	cat >context/Dockerfile <<-'FILE'
	FROM scratch
	COPY busybox /busybox
	CMD ["/busybox", "sh", "-c", "echo $$ of nothing; exit 7"]
	FILE
	expect 7 hutch run --memory 1G -v "$PWD/context:/context:ro" \
		debian-test -- sh -euc '
		p="podman --root /var/lib/hutch/data/podman"
		p="$p --storage-driver overlay --cgroup-manager cgroupfs"
		$p build -q --network none -t localhost/nothing /context >&2
		$p run --rm --network none localhost/nothing'
	is "1 of nothing" "$(cat "$out")" "the container's output"
}

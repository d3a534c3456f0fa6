#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fs.sh - inside the lab: time operations on a share; scripts/bench calls it
#
# Usage: fs.sh BUILD VIRTIOFSD CPUS MEMORY     (HUTCH_KERNEL is the kernel)
#
# Four times the same program on a folder in memory of the same making: on the
# lab itself, in a guest of ours without and with DAX, and in a guest of QEMU
# whose server is VIRTIOFSD. Prints a line an operation: "fs by=WHO op=OP n=COUNT
# ns=TOTAL bytes=EACH moved=BYTES exits=N switches=N", of which the last three
# are of all COUNT: bytes that the server's system calls read or wrote, exits of
# the guest, and switches of the lab's processor from one thread to another.
set -euo pipefail
# shellcheck source=tests/bench/root.sh
. "$(dirname "$0")/root.sh"
server_file=$2 cpus=$3 memory=$4
# Each small file of the bench is 2 MiB of it.
window=512M
kernel=${HUTCH_KERNEL%/*}
quiet="loglevel=2 reboot=k panic=-1 printk.devkmsg=on"

# now: sets moved, exits and switches. Nothing is run and nothing is read from a
# file system of the host's, which would take time of its own.
now() {
	local key value

	moved=0 switches=0
	while read -r key value; do
		case $key in
		rchar: | wchar:) moved=$((moved + value)) ;;
		esac
	done <"/proc/$server/io"
	while read -r key value; do
		[ "$key" != ctxt ] || switches=$value
	done </proc/stat
	read -r exits <"$root/debug/kvm/exits"
}

# follow WHO: what the program says on descriptor 3; the server is $server.
follow() {
	local line rest begun=()

	while read -r line <&3; do
		line=${line%$'\r'}
		case $line in
		*"fs begin "*)
			now
			begun=("$moved" "$exits" "$switches")
			;;
		*"fs end "*)
			now
			rest=${line#*fs end }
			echo "fs by=$1 op=$rest moved=$((moved - begun[0]))$(:
				) exits=$((exits - begun[1]))$(:
				) switches=$((switches - begun[2]))"
			;;
		*"fs done") return 0 ;;
		*) echo "$1: $line" >&2 ;;
		esac
	done
	echo "$1: ended too early" >&2
	return 1
}

on_the_lab() {
	exec 3< <(exec chroot "$root" /b/fs_timer time /share/host)
	server=$!
	follow host
}

# ours WHO OPTION...: in a guest, with those options of the share.
ours() {
	local who=$1

	shift
	exec 3< <(exec chroot "$root" /b/hutch-vmm --kernel /vmlinux \
		--initrd /initrd --cpus "$cpus" --memory "$memory" --console - \
		--cmdline "$quiet console=uart8250,mmio,0xd0000000 pci=off" \
		--fs "tag=share,dir=/share/$who$*")
	server=$!
	follow "$who"
	wait "$server" || true
}

virtiofsd() {
	local qemu

	rm -f "$root/virtiofsd.sock"
	chroot "$root" /b/virtiofsd --socket-path=/virtiofsd.sock \
		-o source=/share/virtiofsd,sandbox=chroot >&2 &
	server=$!
	until [ -S "$root/virtiofsd.sock" ]; do
		sleep 0.1
	done
	exec 3< <(exec chroot "$root" /b/qemu-system-x86_64 \
		-M q35,accel=kvm,memory-backend=ram -cpu host -smp "$cpus" \
		-m "$memory" -L /qemu -nodefaults -no-user-config -display none \
		-object "memory-backend-memfd,id=ram,size=$memory,share=on" \
		-serial stdio -no-reboot -kernel /bzImage -initrd /initrd \
		-append "$quiet console=ttyS0" \
		-chardev socket,id=server,path=/virtiofsd.sock \
		-device vhost-user-fs-pci,chardev=server,tag=share,queue-size=1024)
	qemu=$!
	follow virtiofsd
	wait "$qemu" "$server" || true
}

bench_root "$1" tests/bench/fs_timer "$server_file" \
	"$(command -v qemu-system-x86_64)"
mkdir "$root"/{share,qemu,debug,tmp}
for who in host plain dax virtiofsd; do
	chroot "$root" /b/fs_timer make "/share/$who"
done
cp /usr/share/seabios/bios-256k.bin /usr/share/qemu/linuxboot_dma.bin \
	/usr/share/qemu/kvmvapic.bin "$root/qemu/"
cp "$kernel/bzImage" "$root/"
cp "$root/b/fs_timer" "$root/init"
(cd "$root" && echo init | busybox cpio -o -H newc) >"$root/initrd" 2>/dev/null
mount -t debugfs bench "$root/debug"
# The first process after a boot can read three times high.
sleep 2
on_the_lab
ours plain ""
ours dax ",dax=always,window=$window"
virtiofsd

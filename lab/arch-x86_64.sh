# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# What an emulated x86_64 lab is made of. Sourced by scripts/lab.

lab_qemu=qemu-system-x86_64
lab_qemu_package=qemu-system-x86
# Not the cloud kernel, which has no 9p.
lab_kernel_meta=linux-image-amd64
# TCG has AMD's virtualization, with nested paging, and not Intel's.
lab_modules="virtio_pci virtio_console 9pnet_virtio 9p overlay virtio_blk ext4
	kvm_amd tun vhost_net vhost_vsock veth bridge fuse"
lab_machine=(-M q35)
lab_cpu=max
# TCG counts "rep movsb" as an instruction a byte; without the flags Linux
# copies by words.
lab_cpu_icount=max,-erms,-fsrm
lab_cmdline="console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable"
lab_cmdline+=" clocksource=tsc nokaslr"

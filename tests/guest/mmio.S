/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/mmio.S - odd accesses to every device window, then prove that all still work */
#include "tests/guest/guest.inc"

	begin
	mov	%cr4, %rax		/* 16-byte moves need OSFXSR */
	or	$0x200, %eax
	mov	%rax, %cr4
	mov	$SERIAL - 0x10, %esi	/* each window, with both its edges */
	mov	$SERIAL + 0x110, %edi
	call	poke
	mov	$POWER - 0x10, %esi
	mov	$POWER + 0x20, %edi
	call	poke
	mov	$PANIC + 1, %esi	/* a panic would end the guest */
	mov	$PANIC + 0x20, %edi
	call	poke
	mov	$VMGENID - 0x10, %esi
	mov	$VMGENID + 0x1020, %edi
	call	poke
	mov	$VIRTIO - 0x10, %esi
	mov	$VIRTIO + 0x320, %edi
	call	poke
	mov	$VIRTIO + 0xff0, %esi
	mov	$VIRTIO + 0x1020, %edi
	call	poke
	mov	$IOAPIC - 0x10, %esi
	mov	$IOAPIC + 0x60, %edi
	call	poke
	call	ports
	call	strings
	call	locked
	mov	$SERIAL + 3, %ebx	/* divisor latch off, 8 bits */
	movb	$3, (%rbx)
	movb	$0, 1(%rbx)		/* no loopback */
	say	"\nstill here\n"
	power_off

/* ESI to EDI: read and write 1, 2, 4, 8 and 16 bytes at each address. */
poke:	mov	%esi, %ebx
1:	mov	(%rbx), %al
	mov	(%rbx), %ax
	mov	(%rbx), %eax
	mov	(%rbx), %rax
	movups	(%rbx), %xmm0
	mov	$0xa5a5a5a5a5a5a5a5, %rax
	mov	%al, (%rbx)
	mov	%ax, (%rbx)
	mov	%eax, (%rbx)
	mov	%rax, (%rbx)
	xor	%eax, %eax
	mov	%al, (%rbx)
	mov	%ax, (%rbx)
	mov	%eax, (%rbx)
	mov	%rax, (%rbx)
	inc	%ebx
	cmp	%edi, %ebx
	jb	1b
	ret

/* Every port in three widths; 0xfe to 0x64 alone would reset. */
ports:	xor	%edx, %edx
1:	in	%dx, %al
	in	%dx, %ax
	in	%dx, %eax
	xor	%eax, %eax
	out	%al, %dx
	out	%ax, %dx
	out	%eax, %dx
	inc	%edx
	cmp	$0x100, %edx
	jb	1b
	mov	$0x60, %edx		/* a wide one that only crosses 0x64 */
	mov	$0xfefefefe, %eax
	add	$1, %edx
	out	%eax, %dx
	ret

/* String instructions into and out of registers, and to ports. */
strings:
	cld
	mov	$VIRTIO, %esi
	lea	buffer(%rip), %rdi
	mov	$64, %ecx
	rep movsb
	mov	$VIRTIO, %esi
	mov	$16, %ecx
	rep movsl
	lea	buffer(%rip), %rsi
	mov	$VIRTIO + 0x100, %edi
	mov	$64, %ecx
	rep movsb
	lea	buffer(%rip), %rdi
	mov	$0x60, %edx
	mov	$64, %ecx
	rep insb
	lea	buffer(%rip), %rsi
	mov	$0x61, %edx
	mov	$64, %ecx
	rep outsb
	ret

locked:	mov	$VIRTIO + 0x70, %ebx
	xor	%eax, %eax
	lock xadd %eax, (%rbx)
	xchg	%eax, (%rbx)
	mov	$IOAPIC, %ebx
	lock cmpxchg %ecx, (%rbx)
	ret

	.bss
	.balign	16
buffer:	.skip	512

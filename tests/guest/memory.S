/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/memory.S - print the RAM that boot_params tells of, try both ends of each run */
#include "tests/guest/guest.inc"

	begin
	movzbl	0x1e8(%rsi), %r13d	/* e820_entries */
	lea	0x2d0(%rsi), %r12	/* e820_table */
1:	test	%r13d, %r13d
	jz	done
	mov	4(%r12), %eax
	call	put_hex
	mov	(%r12), %eax
	call	put_hex
	say	" "
	mov	12(%r12), %eax
	call	put_hex
	mov	8(%r12), %eax
	call	put_hex
	mov	(%r12), %r14
	test	%r14, %r14
	jnz	2f
	mov	$0x1000, %r14d		/* nothing is there */
2:	cmp	$0x100000, %r14
	je	3f			/* we are there ourselves */
	call	try
3:	mov	(%r12), %r14
	add	8(%r12), %r14
	sub	$8, %r14
	call	try
	say	" ok\n"
	add	$20, %r12
	dec	%r13d
	jmp	1b
done:	power_off

/* What is written at R14 must be read. */
try:	movabs	$0x0123456789abcdef, %rax
	mov	%rax, (%r14)
	cmp	%rax, (%r14)
	je	4f
	say	" not RAM\n"
	power_off
4:	ret

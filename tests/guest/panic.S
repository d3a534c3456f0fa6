/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/panic.S - report a panic, say a last line, halt without end */
#include "tests/guest/guest.inc"

	begin
	mov	$PANIC, %ebx
	mov	(%rbx), %al
	test	$1, %al		/* it must offer the event */
	jz	bad
	movb	$1, (%rbx)
	say	"last words\n"
1:	cli
	hlt
	jmp	1b
bad:	say	"no panic event\n"
	power_off

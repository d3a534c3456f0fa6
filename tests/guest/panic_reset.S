/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/panic_reset.S - report a panic, then reset, as Linux with panic=-1 does */
#include "tests/guest/guest.inc"

	begin
	mov	$PANIC, %ebx
	movb	$1, (%rbx)
	mov	$0xfe, %al
	out	%al, $0x64
	forever

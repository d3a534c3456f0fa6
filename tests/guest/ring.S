/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/ring.S - write 10,000 numbered lines, so that a ring wraps, then power off */
#include "tests/guest/guest.inc"

	begin
	xor	%r12d, %r12d
1:	mov	%r12d, %eax
	call	put_hex
	say	"\n"
	inc	%r12d
	cmp	$10000, %r12d
	jb	1b
	power_off

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/vmgenid.S - print the first four bytes of the generation id */
#include "tests/guest/guest.inc"

	begin
	mov	$VMGENID, %ebx
	mov	(%rbx), %eax
	call	put_hex
	say	"\n"
	power_off

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/reset.S - reset through port 0x64, as Linux with reboot=k does */
#include "tests/guest/guest.inc"

	begin
	in	$0x64, %al	/* the input buffer must read as empty */
	test	%al, %al
	jnz	bad
	say	"reset\n"
	mov	$0xfe, %al
	out	%al, $0x64
	forever
bad:	say	"port 0x64 does not read 0\n"
	power_off

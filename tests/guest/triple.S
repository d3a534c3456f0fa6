/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/triple.S - triple fault: no table of interrupts */
#include "tests/guest/guest.inc"

	begin
	say	"fault\n"
	lidt	none(%rip)
	ud2
	.section .rodata
none:	.quad	0, 0

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/halt.S - say a line, then halt for ever */
#include "tests/guest/guest.inc"

	begin
	say	"halted\n"
1:	cli
	hlt
	jmp	1b

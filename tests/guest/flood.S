/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/flood.S - write to the serial line without end */
#include "tests/guest/guest.inc"

	begin
1:	say	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"
	jmp	1b

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/spin.S - say a line, then compute for ever */
#include "tests/guest/guest.inc"

	begin
	say	"spinning\n"
	forever

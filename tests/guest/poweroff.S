/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guest/poweroff.S - say a line, power off */
#include "tests/guest/guest.inc"

	begin
	say	"hello from the guest\n"
	power_off

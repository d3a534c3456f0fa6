/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/pty.c - see pty.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "guest-agent/pty.h"

/* Of <asm-generic/ioctls.h>; musl's <sys/ioctl.h> does not have it. */
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

int pty_resize(int master, uint16_t cols, uint16_t rows)
{
	struct winsize ws = { .ws_col = cols, .ws_row = rows };

	return ioctl(master, TIOCSWINSZ, &ws) < 0 ? -errno : 0;
}

int pty_open(uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave,
	     struct err *e)
{
	auto_fd int master =
		open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	auto_fd int slave = -1;
	int unlock = 0;
	int r;

	if (master < 0)
		return err_set(e, -errno, "a terminal: /dev/ptmx: %s",
			       strerror(errno));
	if (ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return err_set(e, -errno, "a terminal: unlock: %s",
			       strerror(errno));
	/* By descriptor: no path under a guest's control is looked at. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_set(e, -errno, "a terminal: its slave: %s",
			       strerror(errno));
	r = pty_resize(master, cols ? cols : PTY_COLS, rows ? rows : PTY_ROWS);
	if (r < 0)
		return err_set(e, r, "a terminal: its size: %s", strerror(-r));
	*ret_master = take_fd(&master);
	*ret_slave = take_fd(&slave);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/console.c - see console.h */
#include <unistd.h>

#include "vmm/console.h"

int console_init(struct console *c, bool to_stdout, int fd, struct err *e)
{
	*c = (struct console){ .to_stdout = to_stdout };
	return fd < 0 ? 0 : conring_open(&c->ring, fd, e);
}

void console_done(struct console *c)
{
	conring_close(&c->ring);
}

void console_out(void *ctx, uint8_t byte)
{
	struct console *c = ctx;

	if (c->ring.map)
		conring_put(&c->ring, &byte, 1);
	/*
	 * A full pipe stops the guest, as a slow line would.  A byte that
	 * cannot be written (a kick came, nobody reads) is lost, as there.
	 */
	if (c->to_stdout && write(STDOUT_FILENO, &byte, 1) < 0)
		return;
}

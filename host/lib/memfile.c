/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/memfile.c - see memfile.h */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/io.h"
#include "host/lib/internal.h"
#include "host/lib/memfile.h"

int memfile_make(const char *name, const void *buf, size_t len, struct err *e)
{
	auto_fd int fd = memfd_create(name, MFD_CLOEXEC);
	int r = fd < 0 ? -errno : file_size_ok(len);

	if (r == 0)
		r = io_write_full(fd, buf, len);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot make a memory file: %s",
			       strerror(-r));
	return take_fd(&fd);
}

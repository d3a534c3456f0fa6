/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/memfile.c - see memfile.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

ssize_t memfile_read(int fd, size_t max, char **ret)
{
	auto_free char *text = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size <= 0 || (uint64_t)st.st_size > max)
		return -EINVAL;
	text = calloc(1, (size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
		return -EINVAL;
	*ret = take_ptr(&text);
	return st.st_size;
}

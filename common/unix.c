/* SPDX-License-Identifier: Apache-2.0 */
/* common/unix.c - see unix.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/unix.h"

static int fill_addr(struct sockaddr_un *sa, int dirfd, const char *name)
{
	int n;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	if (dirfd == AT_FDCWD)
		n = snprintf(sa->sun_path, sizeof(sa->sun_path), "%s", name);
	else
		n = snprintf(sa->sun_path, sizeof(sa->sun_path),
			     "/proc/self/fd/%d/%s", dirfd, name);
	return n < 0 || (size_t)n >= sizeof(sa->sun_path) ? -ENAMETOOLONG : 0;
}

static int connect_addr(const struct sockaddr_un *sa, int type)
{
	auto_fd int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0)
		return -errno;
	return take_fd(&fd);
}

int unix_connect(int dirfd, const char *name, int type, struct err *e)
{
	struct sockaddr_un sa;
	int r = fill_addr(&sa, dirfd, name);

	if (r < 0)
		return err_set(e, r,
			       "socket path '%s' is longer than %zu bytes",
			       name, sizeof(sa.sun_path) - 1);
	r = connect_addr(&sa, type);
	if (r < 0)
		return err_set(e, r, "cannot connect to '%s': %s", name,
			       strerror(-r));
	return r;
}

int unix_connect_file(int fd, int type)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d",
		       fd);
	return connect_addr(&sa, type);
}

/* Only a socket that refuses a connection is a left-over to be replaced. */
static int unlink_stale(const struct sockaddr_un *sa, int type)
{
	struct stat st;
	int r;

	/* A connect to any other kind of file is refused just the same. */
	if (lstat(sa->sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	r = connect_addr(sa, type);
	if (r >= 0) {
		(void)close(r);
		return -EADDRINUSE;
	}
	if (r != -ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(sa->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

int unix_listen(int dirfd, const char *name, int type, struct err *e)
{
	auto_fd int fd = -1;
	struct sockaddr_un sa;
	int r = fill_addr(&sa, dirfd, name);

	if (r < 0)
		return err_set(e, r,
			       "socket path '%s' is longer than %zu bytes",
			       name, sizeof(sa.sun_path) - 1);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "socket: %s", strerror(errno));
	r = bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
	if (r == -EADDRINUSE) {
		r = unlink_stale(&sa, type);
		if (r == 0 &&
		    bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
			r = -errno;
	}
	if (r == 0 && listen(fd, SOMAXCONN) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot listen at '%s': %s", name,
			       strerror(-r));
	return take_fd(&fd);
}

ssize_t unix_send_fds(int sock, const void *buf, size_t len, const int *fds,
		      int n_fds)
{
	_Alignas(struct cmsghdr) char
		ctl[CMSG_SPACE(UNIX_FDS_MAX * sizeof(int))];
	struct iovec iov = { .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	bug_on(n_fds < 0 || n_fds > UNIX_FDS_MAX);
	memcpy(&iov.iov_base, &buf, sizeof(buf)); /* sendmsg only reads it */
	if (n_fds) {
		size_t bytes = (size_t)n_fds * sizeof(int);
		struct cmsghdr *cm;

		memset(ctl, 0, sizeof(ctl));
		mh.msg_control = ctl;
		mh.msg_controllen = CMSG_SPACE(bytes);
		cm = CMSG_FIRSTHDR(&mh);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(cm), fds, bytes);
	}
	do
		n = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int take_rights(struct msghdr *mh, int *fds)
{
	int n = 0;

	for (struct cmsghdr *cm = CMSG_FIRSTHDR(mh); cm;
	     cm = CMSG_NXTHDR(mh, cm)) {
		size_t k;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		k = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < k; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int),
			       sizeof(fd));
			if (n < UNIX_FDS_MAX)
				fds[n++] = fd;
			else
				(void)close(fd);
		}
	}
	return n;
}

ssize_t unix_recv_fds(int sock, void *buf, size_t len, int *fds, int *ret_n)
{
	_Alignas(struct cmsghdr) char
		ctl[CMSG_SPACE(UNIX_FDS_MAX * sizeof(int))];
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = ctl,
			     .msg_controllen = sizeof(ctl) };
	ssize_t n;
	int got;

	do
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	got = take_rights(&mh, fds);
	if (mh.msg_flags & MSG_CTRUNC) {
		for (int i = 0; i < got; i++)
			(void)close(fds[i]);
		return -EMSGSIZE;
	}
	*ret_n = got;
	return n;
}

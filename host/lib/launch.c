/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/launch.c - see launch.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/io.h"
#include "host/lib/launch.h"
#include "host/lib/child.h"

#define FDS_TEXT 512

static int fds_text(char buf[FDS_TEXT], const int *fd)
{
	size_t len = 0;

	for (int i = 0; i < LAUNCH_N_FDS; i++) {
		int n = snprintf(buf + len, FDS_TEXT - len, "%s%d",
				 i ? "," : "fd=", fd[i]);

		if (n < 0 || (size_t)n >= FDS_TEXT - len)
			return -EOVERFLOW;
		len += (size_t)n;
	}
	return 0;
}

/*
 * "NAME=/path" of what variable NAME says, which the keeper reads in another
 * folder. Return: the caller's; NULL: it is not set, or there is no memory
 */
static char *path_word(const char *name)
{
	const char *value = getenv(name);
	auto_free char *here = NULL;
	char *word = NULL;

	if (!value || !*value)
		return NULL;
	/* Without a folder it is none there, and says so. */
	here = *value == '/' ? NULL : getcwd(NULL, 0);
	if (asprintf(&word, "%s=%s%s%s", name, here ? here : "",
		     here ? "/" : "", value) < 0)
		return NULL;
	return word;
}

static int spawn(const int *fd, char *const argv[], pid_t *pid)
{
	/*
	 * A minimal environment: nothing of the caller's reaches a VM. Whom
	 * hutch-net trusts, if it speaks to servers for one, is the caller's.
	 */
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	auto_free char *trust = path_word("SSL_CERT_FILE");
	char *const env[] = { path, trust, NULL };
	struct child_fds fds = { .n = 0 };
	const struct child s = {
		.argv = argv,
		.env = env,
		.fds = &fds,
		.quiet = true,
		.cwd = -1,
		.session = true,
	};

	for (int i = 0; i < LAUNCH_N_FDS; i++)
		child_put(&fds, fd[i], fd[i]);
	return child_run(&s, pid);
}

int launch_keeper(const int fd[LAUNCH_N_FDS], char *const path[LAUNCH_N_PATHS],
		  const char *name, struct err *e)
{
	char name_buf[64], fds[FDS_TEXT];
	char *const argv[] = { path[LAUNCH_PATH_KEEPER],
			       name_buf,
			       fds,
			       path[LAUNCH_PATH_KEEPER],
			       path[LAUNCH_PATH_VMM],
			       path[LAUNCH_PATH_AGENT],
			       path[LAUNCH_PATH_ROOT],
			       path[LAUNCH_PATH_KERNEL],
			       path[LAUNCH_PATH_NET],
			       NULL };
	pid_t pid = -1, got;
	int r = fds_text(fds, fd);

	(void)snprintf(name_buf, sizeof(name_buf), "%s", name);
	r = r < 0 ? r : spawn(fd, argv, &pid);
	if (r < 0)
		return err_set(e, r, "cannot run '%s': %s",
			       path[LAUNCH_PATH_KEEPER], strerror(-r));
	/* It forks and ends at once; how it ended the start pipe tells. */
	do
		got = waitpid(pid, NULL, 0);
	while (got < 0 && errno == EINTR);
	return 0;
}

int launch_await(int start_fd, struct err *e)
{
	char buf[LAUNCH_WORDS_MAX + 1];
	ssize_t n = io_read_full(start_fd, buf, sizeof(buf) - 1);

	if (n < 0)
		return err_set(e, (int)n, "keeper: %s", strerror((int)-n));
	buf[n] = '\0';
	if (strcmp(buf, LAUNCH_OK) == 0)
		return 0;
	if (strncmp(buf, LAUNCH_ERROR, strlen(LAUNCH_ERROR)) == 0)
		return err_set(e, -EIO, "%s", buf + strlen(LAUNCH_ERROR));
	return err_set(e, -EPIPE,
		       "hutch-keeper ended before it had started the VM");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_keeper_handler.c - the keeper connects hutch-net to handlers */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io.h"
#include "common/unix.h"
#include "host/keeper/keeper.h"
#include "tests/lib/check_main.h"
#include "tests/lib/keeper_control.h"

#define NOBODY 65534
#define TRIES  64

/* @theirs is hutch-net's end of the control socket. */
struct world {
	struct keeper *k;
	int theirs;
	char dir[64];
	char path[100];
};

static void allow(struct world *w, const char *path)
{
	char json[300];

	(void)snprintf(json, sizeof(json),
		       "{\"rules\":[{\"allow\":\"b.org\"},{\"intercept\":"
		       "\"a.org\",\"handler\":1},{\"intercept\":\"a.org\","
		       "\"handler\":\"%s\"}]}",
		       path);
	handler_allow(&w->k->net, json);
}

static struct world *world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	w->k = keeper_control(&w->theirs);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/hutch-h-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	(void)snprintf(w->path, sizeof(w->path), "%s/h.sock", w->dir);
	allow(w, w->path);
	return w;
}

static void end(struct world *w)
{
	handler_allow(&w->k->net, NULL);
	(void)close(w->k->net.control);
	(void)close(w->theirs);
	(void)unlink(w->path);
	ck_assert_int_eq(rmdir(w->dir), 0);
	free(w->k);
	free(w);
}

/* Ask for @path. Return: the descriptor that came, or -1 with @answer. */
static int ask(struct world *w, const char *path, const char *answer)
{
	int fds[UNIX_FDS_MAX], n = 0;
	char buf[200];
	ssize_t len;

	handler_connect(w->k, path, 5);
	len = unix_recv_fds(w->theirs, buf, sizeof(buf) - 1, fds, &n);
	ck_assert_int_gt(len, 0);
	buf[len] = '\0';
	ck_assert_str_eq(buf, answer);
	ck_assert_int_le(n, 1);
	return n ? fds[0] : -1;
}

#define NOT(word) "{\"connected\":5,\"error\":\"" word "\"}"

static int listen_at(const struct world *w)
{
	struct err e = { 0 };
	int fd = unix_listen(AT_FDCWD, w->path, SOCK_STREAM, &e);

	ck_assert_msg(fd >= 0, "%s", e.msg);
	return fd;
}

START_TEST(a_connection_is_passed_on)
{
	struct world *w = world();
	int ls = listen_at(w), fd, c;
	char byte = 'x';

	fd = ask(w, w->path, "{\"connected\":5}");
	ck_assert_int_ge(fd, 0);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	c = accept(ls, NULL, NULL);
	ck_assert_int_eq(send(fd, "y", 1, 0), 1);
	ck_assert_int_eq(recv(c, &byte, 1, 0), 1);
	ck_assert_int_eq(byte, 'y');
	/* Nobody else has it. */
	(void)close(fd);
	ck_assert_int_eq(recv(c, &byte, 1, 0), 0);
	(void)close(c);
	(void)close(ls);
	end(w);
}
END_TEST

START_TEST(who_is_not_there_is_told_apart)
{
	struct world *w = world();
	char below[120];
	int ls;

	ck_assert_int_eq(ask(w, w->path, NOT("none")), -1);
	ls = listen_at(w);
	(void)close(ls);
	ck_assert_int_eq(ask(w, w->path, NOT("refused")), -1);
	(void)snprintf(below, sizeof(below), "%s/x", w->path);
	allow(w, below);
	ck_assert_int_eq(ask(w, below, NOT("none")), -1);
	end(w);
}
END_TEST

START_TEST(only_what_the_policy_has_is_connected_to)
{
	struct world *w = world();
	int ls = listen_at(w);
	char other[120];

	(void)snprintf(other, sizeof(other), "%s/../%s/h.sock", w->dir,
		       strrchr(w->dir, '/') + 1);
	ck_assert_int_eq(ask(w, other, NOT("unknown")), -1);
	ck_assert_int_eq(ask(w, "", NOT("unknown")), -1);
	/* Another policy, and the end of all. */
	allow(w, "/nosuch");
	ck_assert_int_eq(ask(w, w->path, NOT("unknown")), -1);
	handler_allow(&w->k->net, NULL);
	ck_assert_int_eq(ask(w, w->path, NOT("unknown")), -1);
	handler_allow(&w->k->net, "no JSON");
	ck_assert_int_eq(ask(w, w->path, NOT("unknown")), -1);
	ck_assert_int_eq(accept(ls, NULL, NULL), -1);
	(void)close(ls);
	end(w);
}
END_TEST

START_TEST(a_full_queue_is_not_waited_for)
{
	struct world *w = world();
	int ls = listen_at(w), fd[TRIES], n = 0;
	char buf[200];

	ck_assert_int_eq(listen(ls, 1), 0);
	while (n < TRIES &&
	       (fd[n] = unix_connect(AT_FDCWD, w->path,
				     SOCK_STREAM | SOCK_NONBLOCK, NULL)) >= 0)
		n++;
	ck_assert_int_lt(n, TRIES);
	ck_assert_int_eq(ask(w, w->path, NOT("busy")), -1);
	while (n-- > 0)
		(void)close(fd[n]);
	(void)close(ls);
	/* Nor is hutch-net: what it does not take is lost, the connection too. */
	(void)unlink(w->path);
	ls = listen_at(w);
	while (send(w->k->net.control, "x", 1, 0) == 1)
		;
	handler_connect(w->k, w->path, 6);
	n = accept(ls, NULL, NULL);
	ck_assert_int_ge(n, 0);
	ck_assert_int_eq(recv(n, buf, sizeof(buf), 0), 0);
	(void)close(n);
	(void)close(ls);
	end(w);
}
END_TEST

/* By the kernel it is whoever called listen(2). */
START_TEST(another_user_s_socket_is_not_spoken_to)
{
	struct world *w = world();
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int ls = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), status = 0;
	pid_t pid;

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", w->path);
	ck_assert_int_eq(bind(ls, (struct sockaddr *)&sa, sizeof(sa)), 0);
	pid = fork();
	if (pid == 0)
		_exit(setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
		      listen(ls, 8) < 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* Who is no root cannot be two users. */
	if (geteuid() == 0) {
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(ask(w, w->path, NOT("other")), -1);
	}
	(void)close(ls);
	end(w);
}
END_TEST

/* The world's folder is one that the guest may write to. */
static void share(struct world *w)
{
	auto_fd int fd = open(w->dir, O_PATH | O_CLOEXEC);

	ck_assert_int_eq(handlerpath_share(&w->k->net.shares, -1), 0);
	ck_assert_int_eq(handlerpath_share(&w->k->net.shares, fd), 0);
}

static void expect(struct world *w, const char *path, const char *error)
{
	allow(w, path);
	ck_assert_int_eq(ask(w, path, error), -1);
}

START_TEST(what_is_no_socket_is_not_connected_to)
{
	struct world *w = world();
	int ls = listen_at(w), fd;
	char link[120], to[140];

	(void)snprintf(link, sizeof(link), "%s/link", w->dir);
	ck_assert_int_eq(symlink(w->path, link), 0);
	expect(w, link, NOT("no-socket"));
	expect(w, w->dir, NOT("no-socket"));
	expect(w, "/", NOT("no-socket"));
	(void)unlink(link);
	/* A folder may be a link, to here or there. */
	ck_assert_int_eq(symlink(strrchr(w->dir, '/') + 1, link), 0);
	(void)snprintf(to, sizeof(to), "%s/h.sock", link);
	expect(w, to, NOT("none"));
	(void)unlink(link);
	(void)snprintf(to, sizeof(to), "..//./%s/", strrchr(w->dir, '/') + 1);
	ck_assert_int_eq(symlink(to, link), 0);
	(void)snprintf(to, sizeof(to), "%s/h.sock", link);
	allow(w, to);
	fd = ask(w, to, "{\"connected\":5}");
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	(void)unlink(link);
	ck_assert_int_eq(symlink("link", link), 0);
	expect(w, to, NOT("failed"));
	(void)unlink(link);
	(void)close(ls);
	end(w);
}
END_TEST

START_TEST(a_way_that_the_guest_can_change_is_not_gone)
{
	struct world *w = world(), *safe = world();
	int ls = listen_at(w), safe_ls = listen_at(safe);
	char in[120], out[120], path[200];
	struct err e;

	share(w);
	expect(w, w->path, NOT("shared"));
	/* A link of the guest's to elsewhere; and out again. */
	(void)snprintf(in, sizeof(in), "%s/l", w->dir);
	ck_assert_int_eq(symlink(safe->dir, in), 0);
	(void)snprintf(path, sizeof(path), "%s/h.sock", in);
	expect(w, path, NOT("shared"));
	(void)snprintf(path, sizeof(path), "%s/..%s/h.sock", w->dir,
		       strrchr(safe->dir, '/'));
	expect(w, path, NOT("shared"));
	/* One of the user's, from elsewhere to there. */
	(void)snprintf(out, sizeof(out), "%s/l", safe->dir);
	ck_assert_int_eq(symlink(in, out), 0);
	(void)snprintf(path, sizeof(path), "%s/h.sock", out);
	expect(w, path, NOT("shared"));
	(void)snprintf(path, sizeof(path),
		       "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":"
		       "\"%s/none\"}]}",
		       w->dir);
	ck_assert_int_eq(handler_check(&w->k->net, path, &e), -EINVAL);
	ck_assert_int_eq(handler_check(&safe->k->net, path, &e), 0);
	ck_assert_int_eq(handler_check(&w->k->net, NULL, &e), 0);
	ck_assert_int_eq(accept(ls, NULL, NULL), -1);
	ck_assert_int_eq(accept(safe_ls, NULL, NULL), -1);
	(void)unlink(in);
	(void)unlink(out);
	(void)close(ls);
	(void)close(safe_ls);
	end(w);
	end(safe);
}
END_TEST

CHECK_MAIN("keeper_handler", a_connection_is_passed_on,
	   who_is_not_there_is_told_apart,
	   only_what_the_policy_has_is_connected_to,
	   a_full_queue_is_not_waited_for,
	   another_user_s_socket_is_not_spoken_to,
	   what_is_no_socket_is_not_connected_to,
	   a_way_that_the_guest_can_change_is_not_gone)

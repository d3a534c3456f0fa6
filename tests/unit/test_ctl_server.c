/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_ctl_server.c - vmm/ctl.c: clients that wait, and that leave */
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/ctl.h"
#include "tests/lib/check_main.h"
#include "vmm/config.h"
#include "vmm/ctl.h"
#include "vmm/vm.h"

#define CLIENTS 3

/** struct env - A VM with one vCPU that never stops, and its clients' ends */
struct env {
	struct config cfg;
	struct vm vm;
	int fd[CLIENTS];
};

static struct env *start(void)
{
	struct env *v = calloc(1, sizeof(*v));
	const struct run_config rc = { .vcpu = v ? v->vm.vcpu : NULL, .n = 1 };

	ck_assert_ptr_nonnull(v);
	v->vm.cfg = &v->cfg;
	ck_assert_int_eq(loop_init(&v->vm.loop, NULL), 0);
	ck_assert_int_eq(run_init(&v->vm.run, &rc, NULL), 0);
	for (int i = 0; i < CLIENTS; i++) {
		int pair[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					    0, pair),
				 0);
		v->fd[i] = pair[0];
		v->cfg.control[i].fd = pair[1];
	}
	v->cfg.n_controls = CLIENTS;
	ck_assert_int_eq(ctl_new(&v->vm.ctl, &v->vm, NULL), 0);
	run_resume(&v->vm.run);
	return v;
}

static void done(struct env *v)
{
	ctl_free(v->vm.ctl);
	for (int i = 0; i < CLIENTS; i++)
		if (v->fd[i] >= 0)
			(void)close(v->fd[i]);
	run_done(&v->vm.run);
	loop_done(&v->vm.loop);
	free(v);
}

static void say(struct env *v, int i, const char *s)
{
	ck_assert_int_eq(send(v->fd[i], s, strlen(s), MSG_NOSIGNAL),
			 (ssize_t)strlen(s));
	ck_assert_int_eq(loop_step(&v->vm.loop, 0), 1);
}

static void hears(struct env *v, int i, const char *s)
{
	char buf[CTL_LINE_MAX];
	ssize_t n = recv(v->fd[i], buf, sizeof(buf) - 1, MSG_DONTWAIT);

	ck_assert_int_ge(n, 0);
	buf[n] = '\0';
	ck_assert_str_eq(buf, s);
}

START_TEST(pause_answers_all_who_asked_and_then_serves_them)
{
	struct env *v = start();

	say(v, 0, "pause\nresume\n");
	say(v, 1, "pause\n");
	say(v, 2, "wait for=ready\n");
	ctl_on_paused(v->vm.ctl);
	hears(v, 0, "ok\nok\n");
	hears(v, 1, "ok\n");
	ck_assert(!run_wants_pause(&v->vm.run));
	ctl_on_ready(v->vm.ctl);
	hears(v, 2, "ok\n");
	done(v);
}
END_TEST

/* The first one's next request meets the second, who has gone meanwhile. */
START_TEST(client_that_left_while_another_is_served_is_let_go)
{
	struct env *v = start();

	say(v, 0, "pause\nresume\npause\n");
	say(v, 1, "pause\n");
	(void)close(v->fd[1]);
	v->fd[1] = -1;
	ctl_on_paused(v->vm.ctl); /* returns */
	hears(v, 0, "ok\nok\n");
	ck_assert(run_wants_pause(&v->vm.run));
	say(v, 2, "resume\n");
	hears(v, 2, "ok\n");
	done(v);
}
END_TEST

/* A listener in place of the first client. Return: a client in its backlog */
static int listens(struct env *v)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int l = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int c = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(sa);

	/* The family alone: the kernel finds an abstract name. */
	ck_assert_int_eq(bind(l, (struct sockaddr *)&sa, sizeof(sa_family_t)),
			 0);
	ck_assert_int_eq(listen(l, 1), 0);
	ck_assert_int_eq(getsockname(l, (struct sockaddr *)&sa, &len), 0);
	ck_assert_int_eq(connect(c, (struct sockaddr *)&sa, len), 0);
	ctl_free(v->vm.ctl);
	(void)close(v->fd[0]);
	v->fd[0] = c;
	v->cfg.control[0].fd = l;
	v->cfg.n_controls = 1;
	ck_assert_int_eq(ctl_new(&v->vm.ctl, &v->vm, NULL), 0);
	return c;
}

START_TEST(listener_without_descriptors_rests_and_looks_again)
{
	struct env *v = start();
	struct rlimit old, none;
	int fd = listens(v);
	bool rests = false;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	/* However slow we are: it rests longer than each of these takes. */
	for (int i = 0; i < 1000 && !rests; i++)
		rests = loop_step(&v->vm.loop, 0) == 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert(rests);
	ck_assert_int_eq(send(fd, "resume\n", 7, MSG_NOSIGNAL), 7);
	for (int i = 0; i < 3; i++) /* the timer, the client, its request */
		ck_assert_int_eq(loop_step(&v->vm.loop, 60000), 1);
	hears(v, 0, "ok\n");
	done(v);
}
END_TEST

CHECK_MAIN("ctl_server", pause_answers_all_who_asked_and_then_serves_them,
	   client_that_left_while_another_is_served_is_let_go,
	   listener_without_descriptors_rests_and_looks_again)

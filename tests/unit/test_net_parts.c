/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_parts.c - hutch-net's messages, events and jail */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host/net/config.h"
#include "host/net/control.h"
#include "host/net/denials.h"
#include "host/net/jail.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_kit.h"

/* ---- Messages ---- */

START_TEST(the_first_message_is_read)
{
	static const char text[] =
		"{\"policy\":{\"rules\":[]},\"resolvers\":"
		"[\"192.0.2.1\",\"2001:db8::1\"],\"mtu\":1500}";
	struct config c = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(config_first(text, strlen(text), &c, &e), 0);
	ck_assert_uint_eq(c.resolvers.n, 2);
	ck_assert_uint_eq(c.mtu, 1500);
	ck_assert(addr_is_v4(&c.resolvers.v[0]) &&
		  !addr_is_v4(&c.resolvers.v[1]));
	policy_unref(c.policy);
}
END_TEST

/* Each is the message above but for one thing. */
START_TEST(a_first_message_that_is_none_gets_a_sentence)
{
	static const char *const bad[][2] = {
		{ "", "no JSON object" },
		{ "[]", "no JSON object" },
		{ "{", "no JSON object" },
		{ "{\"resolvers\":[]}", "no 'policy'" },
		{ "{\"policy\":{\"rules\":[]}}", "'resolvers'" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[1]}",
		  "resolver 1" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[\"a.b\"]}",
		  "resolver 1" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[\"1.1.1.1\","
		  "\"1.1.1.1\",\"1.1.1.1\",\"1.1.1.1\",\"1.1.1.1\"]}",
		  "at most 4" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[],\"mtu\":1279}",
		  "'mtu'" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[],\"mtu\":65521}",
		  "'mtu'" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[],\"mtu\":\"a\"}",
		  "'mtu'" },
		{ "{\"policy\":{\"rules\":[]},\"resolvers\":[],\"x\":1}",
		  "unknown key 'x'" },
		{ "{\"policy\":{\"rules\":[]},\"policy\":{},\"resolvers\":[]}",
		  "duplicate" },
		{ "{\"policy\":{\"rules\":[{\"inject\":[{\"set\":{\"A\":"
		  "\"SECRET\n",
		  "no JSON object" },
		{ "{\"policy\":{\"rules\":[{\"inject\":[{\"set\":{\"A\":"
		  "\"SECRET\" \"",
		  "no JSON object" },
		{ "{\"policy\":{\"rules\":[{}]},\"resolvers\":[]}", "rule 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		size_t len = strlen(bad[i][0]);
		auto_free char *text = check_copy(bad[i][0], len);
		struct config c = { 0 };
		struct err e = { 0 };

		ck_assert_msg(config_first(text, len, &c, &e) < 0, "case %zu",
			      i);
		ck_assert_msg(strstr(e.msg, bad[i][1]), "case %zu: %s", i,
			      e.msg);
		ck_assert_msg(!strstr(e.msg, "SECRET"), "%s", e.msg);
		ck_assert_ptr_null(c.policy);
	}
}
END_TEST

START_TEST(a_message_that_is_too_long_gets_a_sentence)
{
	struct config_request q;
	struct err e = { 0 };

	ck_assert_int_lt(config_request("{}", CONFIG_MAX + 1, &q, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.msg, "65536"));
}
END_TEST

START_TEST(requests_are_read)
{
	static const char show[] = "{\"show\":true}";
	static const char all[] = "{\"policy\":{\"rules\":[]},\"apply\":"
				  "\"all\"}";
	static const char other[] = "{\"policy\":{\"rules\":[]},\"apply\":"
				    "\"new\",\"resolvers\":[\"192.0.2.1\"]}";
	struct config_request q;

	ck_assert_int_eq(config_request(show, strlen(show), &q, NULL), 0);
	ck_assert_ptr_null(q.policy);
	ck_assert_int_eq(config_request(all, strlen(all), &q, NULL), 0);
	ck_assert(q.all && !q.has_resolvers);
	policy_unref(q.policy);
	ck_assert_int_eq(config_request(other, strlen(other), &q, NULL), 0);
	ck_assert(!q.all && q.has_resolvers);
	ck_assert_uint_eq(q.resolvers.n, 1);
	policy_unref(q.policy);
}
END_TEST

START_TEST(requests_that_are_none_get_a_sentence)
{
	static const char *const bad[] = {
		"{}",
		"{\"show\":false}",
		"{\"show\":1}",
		"{\"show\":true,\"apply\":\"all\"}",
		"{\"policy\":{\"rules\":[]}}",
		"{\"policy\":{\"rules\":[]},\"apply\":\"some\"}",
		"{\"apply\":\"all\"}",
		"{\"show\":true,\"resolvers\":[]}",
		"{\"policy\":{\"rules\":[]},\"apply\":\"all\",\"resolvers\":1}",
		"{\"policy\":[],\"apply\":\"all\"}",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct config_request q;
		struct err e = { 0 };

		ck_assert_msg(config_request(bad[i], strlen(bad[i]), &q, &e) <
				      0,
			      "case %zu", i);
		ck_assert(e.msg[0]);
	}
}
END_TEST

/* ---- Events ---- */

static json_t *event(int fd)
{
	char buf[2048];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	return n <= 0 ? NULL : json_loadb(buf, (size_t)n, 0, NULL);
}

static json_int_t count_of(int fd)
{
	json_t *j = event(fd);
	json_int_t n = j ? json_integer_value(json_object_get(j, "count")) : 0;

	json_decref(j);
	return n;
}

START_TEST(denials_are_told_and_then_counted)
{
	const struct attempt a = { .proto = NET_UDP, .port = 443 };
	const struct verdict v = { .rule = 2, .why = "so" };
	struct denials d;
	int sv[2];
	json_t *j;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	denials_init(&d, sv[0]);
	denials_flow(&d, &a, &v);
	j = event(sv[1]);
	ck_assert_str_eq(json_string_value(json_object_get(j, "proto")), "udp");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "rule")), 3);
	ck_assert(json_is_null(json_object_get(j, "name")));
	json_decref(j);
	for (unsigned int i = 1; i < DENIALS_BURST + 7; i++)
		denials_name(&d, "a.example", -1, "so");
	for (unsigned int i = 1; i < DENIALS_BURST; i++)
		ck_assert_int_eq(count_of(sv[1]), 1);
	ck_assert_int_eq(count_of(sv[1]), 0);
	/* A second later there is room for one, which has the rest. */
	d.filled_ns -= DENIALS_EACH_NS;
	denials_name(&d, "a.example", -1, "so");
	ck_assert_int_eq(count_of(sv[1]), 8);
	(void)close(sv[0]);
	(void)close(sv[1]);
}
END_TEST

START_TEST(a_keeper_that_does_not_read_holds_up_nothing)
{
	struct denials d;
	int sv[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	denials_init(&d, sv[0]);
	for (int i = 0; i < 5000; i++) {
		d.left = 1;
		denials_name(&d, "a.example", -1, "so");
	}
	ck_assert_uint_gt(d.untold, 0);
	(void)close(sv[0]);
	(void)close(sv[1]);
}
END_TEST

/* ---- Answers ---- */

/** struct answering - A network with a control socket, whose end is @keeper */
struct answering {
	struct link_kit k;
	struct guard guard;
	struct intercepts intercepts;
	struct control control;
	int keeper;
};

static void begin_answering(struct answering *a, const char *policy)
{
	struct policy *p = NULL;
	int sv[2];

	memset(a, 0, sizeof(*a));
	list_init(&a->intercepts.all);
	lk_init(&a->k);
	ck_assert_int_eq(policy_parse(policy, strlen(policy), &p, NULL), 0);
	ck_assert_int_eq(guard_init(&a->guard, p), 0);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sv), 0);
	a->keeper = sv[1];
	a->control = (struct control){ .loop = &a->k.loop,
				       .net = &a->k.net,
				       .guard = &a->guard,
				       .intercepts = &a->intercepts,
				       .fd = sv[0] };
	ck_assert_int_eq(control_watch(&a->control), 0);
}

static void end_answering(struct answering *a)
{
	control_done(&a->control);
	loop_del(&a->control.io);
	lk_done(&a->k);
	guard_done(&a->guard);
	(void)close(a->keeper);
	(void)close(a->control.fd);
}

static void request(struct answering *a, const char *text)
{
	ck_assert_int_eq(send(a->keeper, text, strlen(text), 0),
			 (ssize_t)strlen(text));
	lk_run(&a->k);
}

/* By events that nobody reads, as a guest makes them. */
START_TEST(an_answer_waits_for_room)
{
	struct answering a;
	char buf[2048];
	ssize_t n;

	begin_answering(&a, "{\"rules\":[]}");
	while (send(a.control.fd, "{}", 2, MSG_DONTWAIT) > 0)
		continue;
	request(&a, "{\"policy\":{\"rules\":[]},\"apply\":\"all\"}");
	request(&a, "{\"nothing\":1}");
	while ((n = recv(a.keeper, buf, sizeof(buf), 0)) == 2)
		continue;
	ck_assert_int_lt(n, 0);
	lk_run(&a.k);
	n = recv(a.keeper, buf, sizeof(buf), 0);
	ck_assert_int_eq(n, 11);
	ck_assert_mem_eq(buf, "{\"ok\":true}", 11);
	n = recv(a.keeper, buf, sizeof(buf), 0);
	ck_assert_int_gt(n, 10);
	ck_assert_mem_eq(buf, "{\"error\":", 9);
	end_answering(&a);
}
END_TEST

/* Longer names than there are. */
START_TEST(what_is_shown_has_a_limit)
{
	struct lk_tcp t = { .peer = { { 0x20, 1 } }, .peer_port = 80 };
	struct answering a;
	char *got = malloc(1 << 20);
	struct list *p;
	json_t *doc;
	ssize_t n;

	begin_answering(&a, "{\"rules\":[]}");
	a.k.how = JUDGE_INTERCEPT;
	for (t.port = 1; t.port <= CONTROL_SHOWN_MAX; t.port++)
		lk_segment(&a.k, &t, TCP_SYN, NULL, 0);
	list_for_each (p, &a.k.net.flows.all[NET_TCP]) {
		struct flow *f = list_entry(p, struct flow, kind);

		f->name = calloc(1, 2001);
		memset(f->name, 'a', 2000);
	}
	request(&a, "{\"show\":true}");
	n = recv(a.keeper, got, 1 << 20, 0);
	ck_assert_int_gt(n, 0);
	ck_assert_int_le(n, CONTROL_ANSWER_MAX);
	doc = json_loadb(got, (size_t)n, 0, NULL);
	ck_assert(json_is_true(json_object_get(doc, "ok")));
	ck_assert(json_is_true(json_object_get(doc, "cut")));
	ck_assert_uint_gt(json_array_size(json_object_get(doc, "flows")), 20);
	json_decref(doc);
	free(got);
	end_answering(&a);
}
END_TEST

/* ---- The jail ---- */

/** struct call - A system call, by number */
struct call {
	const char *name;
	long nr;
	long arg[3];
};

static int status_of(const struct call *c)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (jail_enter(NULL) < 0)
			_exit(99);
		(void)syscall(c->nr, c->arg[0], c->arg[1], c->arg[2], 0, 0, 0);
		(void)syscall(SYS_exit_group, 0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(what_is_forbidden_kills)
{
	static const struct call forbidden[] = {
		{ "execve", SYS_execve, { 0 } },
		{ "fork", SYS_fork, { 0 } },
		{ "openat2", SYS_openat2, { AT_FDCWD } },
		{ "creat", SYS_creat, { 0 } },
		{ "bind", SYS_bind, { -1 } },
		{ "listen", SYS_listen, { -1 } },
		{ "accept4", SYS_accept4, { -1 } },
		{ "memfd_create", SYS_memfd_create, { 0 } },
		{ "unshare", SYS_unshare, { 0 } },
		{ "setns", SYS_setns, { -1 } },
		{ "mount", SYS_mount, { 0 } },
		{ "process_vm_readv", SYS_process_vm_readv, { 1 } },
		{ "tkill", SYS_tkill, { 1 } },
		{ "seccomp", SYS_seccomp, { 0 } },
		{ "dup2", SYS_dup2, { -1, -1 } },
		{ "raw socket", SYS_socket, { AF_INET, SOCK_RAW } },
		{ "packet socket", SYS_socket, { AF_PACKET, SOCK_DGRAM } },
		{ "netlink socket", SYS_socket, { AF_NETLINK, SOCK_RAW } },
		{ "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM } },
		{ "Unix socket", SYS_socket, { AF_UNIX, SOCK_STREAM } },
		{ "pair of datagrams",
		  SYS_socketpair,
		  { AF_UNIX, SOCK_DGRAM } },
		{ "ioctl", SYS_ioctl, { 0, 0x5412 /* TIOCSTI */ } },
		{ "fcntl", SYS_fcntl, { 0, F_SETOWN } },
	};

	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		int status = status_of(&forbidden[i]);

		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
			      "%s: %#x", forbidden[i].name, (unsigned)status);
	}
}
END_TEST

START_TEST(what_it_is_for_it_may)
{
	static const struct call allowed[] = {
		{ "nothing", SYS_getpid, { 0 } },
		{ "TCP", SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC } },
		{ "TCP over IPv6",
		  SYS_socket,
		  { AF_INET6, SOCK_STREAM | SOCK_NONBLOCK } },
		{ "UDP", SYS_socket, { AF_INET, SOCK_DGRAM } },
		{ "SIOCOUTQ", SYS_ioctl, { -1, 0x5411 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		ck_assert_msg(status_of(&allowed[i]) == 0, "%s",
			      allowed[i].name);
}
END_TEST

CHECK_MAIN("net_parts", the_first_message_is_read,
	   a_first_message_that_is_none_gets_a_sentence,
	   a_message_that_is_too_long_gets_a_sentence, requests_are_read,
	   requests_that_are_none_get_a_sentence,
	   denials_are_told_and_then_counted,
	   a_keeper_that_does_not_read_holds_up_nothing,
	   an_answer_waits_for_room, what_is_shown_has_a_limit,
	   what_is_forbidden_kills, what_it_is_for_it_may)

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_parts.c - hutch-net's messages, events and jail */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/sanitized.h"
#include "host/net/config.h"
#include "host/net/control.h"
#include "host/net/denials.h"
#include "host/net/jail.h"
#include "host/net/relay.h"
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
	static const char alone[] = "{\"resolvers\":[\"192.0.2.1\"]}";
	static const char yes[] = "{\"connected\":7}";
	static const char no[] = "{\"connected\":8,\"error\":"
				 "\"a word that is long\"}";
	struct config_request q;

	ck_assert_int_eq(config_request(show, strlen(show), &q, NULL), 0);
	ck_assert(!q.policy && !q.has_resolvers);
	ck_assert_int_eq(config_request(alone, strlen(alone), &q, NULL), 0);
	ck_assert(!q.policy && q.has_resolvers);
	ck_assert_uint_eq(q.resolvers.n, 1);
	ck_assert_int_eq(config_request(all, strlen(all), &q, NULL), 0);
	ck_assert(q.all && !q.has_resolvers);
	policy_unref(q.policy);
	ck_assert_int_eq(config_request(other, strlen(other), &q, NULL), 0);
	ck_assert(!q.all && q.has_resolvers);
	ck_assert_uint_eq(q.resolvers.n, 1);
	policy_unref(q.policy);
	ck_assert_int_eq(config_request(yes, strlen(yes), &q, NULL), 0);
	ck_assert_uint_eq(q.connected.id, 7);
	ck_assert_str_eq(q.connected.error, "");
	ck_assert_int_eq(config_request(no, strlen(no), &q, NULL), 0);
	ck_assert_uint_eq(q.connected.id, 8);
	ck_assert_str_eq(q.connected.error, "a word that is ");
	ck_assert_ptr_null(q.policy);
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
		"{\"apply\":\"all\",\"resolvers\":[]}",
		"{\"resolvers\":[\"a\"]}",
		"{\"show\":true,\"resolvers\":[]}",
		"{\"policy\":{\"rules\":[]},\"apply\":\"all\",\"resolvers\":1}",
		"{\"policy\":[],\"apply\":\"all\"}",
		"{\"connected\":0}",
		"{\"connected\":\"7\"}",
		"{\"connected\":7,\"error\":\"\"}",
		"{\"connected\":7,\"error\":1}",
		"{\"connected\":7,\"apply\":\"all\"}",
		"{\"connected\":7,\"error\":\"x\",\"apply\":\"all\"}",
		"{\"error\":\"x\"}",
		"{\"policy\":{\"rules\":[]},\"apply\":\"all\",\"error\":\"x\"}",
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

/** struct told - Denials, and who is told of them at @keeper */
struct told {
	struct loop loop;
	struct denials d;
	int own;
	int keeper;
};

static void begin_telling(struct told *t)
{
	struct err e;
	int sv[2];

	memset(t, 0, sizeof(*t));
	ck_assert_int_eq(loop_init(&t->loop, &e), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	t->own = sv[0];
	t->keeper = sv[1];
	denials_init(&t->d, &t->loop, t->own);
}

static void end_telling(struct told *t)
{
	denials_done(&t->d);
	loop_done(&t->loop);
	(void)close(t->own);
	(void)close(t->keeper);
}

/* Denials of names, @n of them, the first of "first.example". */
static void deny(struct told *t, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		denials_name(&t->d, i ? "a.example" : "first.example", -1,
			     "so");
}

START_TEST(denials_are_told_and_then_counted)
{
	const struct attempt a = { .proto = NET_UDP, .port = 443 };
	const struct verdict v = { .rule = 2, .why = "so" };
	struct told t;
	json_t *j;

	begin_telling(&t);
	denials_flow(&t.d, &a, &v);
	j = event(t.keeper);
	ck_assert_str_eq(json_string_value(json_object_get(j, "proto")), "udp");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "rule")), 3);
	ck_assert(json_is_null(json_object_get(j, "name")));
	json_decref(j);
	deny(&t, DENIALS_BURST + 6);
	for (unsigned int i = 1; i < DENIALS_BURST; i++)
		ck_assert_int_eq(count_of(t.keeper), 1);
	ck_assert_int_eq(count_of(t.keeper), 0);
	/* A second later there is room for one, which has the rest. */
	t.d.filled_ns -= DENIALS_EACH_NS;
	deny(&t, 1);
	ck_assert_int_eq(count_of(t.keeper), 8);
	ck_assert(!loop_timer_is_set(&t.d.timer));
	end_telling(&t);
}
END_TEST

START_TEST(last_denials_before_a_silence_are_told)
{
	struct told t;
	json_t *j;

	begin_telling(&t);
	deny(&t, DENIALS_BURST);
	deny(&t, 7);
	for (unsigned int i = 0; i < DENIALS_BURST; i++)
		ck_assert_int_eq(count_of(t.keeper), 1);
	ck_assert_int_eq(count_of(t.keeper), 0);
	while (t.d.untold)
		ck_assert_int_ge(loop_step(&t.loop, -1), 0);
	j = event(t.keeper);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "count")), 7);
	ck_assert_str_eq(json_string_value(json_object_get(j, "name")),
			 "first.example");
	json_decref(j);
	ck_assert_int_eq(count_of(t.keeper), 0);
	end_telling(&t);
}
END_TEST

START_TEST(a_keeper_that_does_not_read_holds_up_nothing)
{
	json_int_t n = 0, one;
	struct told t;

	begin_telling(&t);
	for (int i = 0; i < 5000; i++) {
		t.d.left = 1;
		deny(&t, 1);
	}
	ck_assert_uint_gt(t.d.untold, 0);
	while ((one = count_of(t.keeper)) > 0)
		n += one;
	/* It reads again: it gets what it had no room for. */
	while (t.d.untold)
		ck_assert_int_ge(loop_step(&t.loop, -1), 0);
	ck_assert_int_eq(n + count_of(t.keeper), 5000);
	end_telling(&t);
}
END_TEST

/* ---- Answers ---- */

/** struct answering - A network with a control socket, whose end is @keeper */
struct answering {
	struct link_kit k;
	struct guard guard;
	struct intercepts intercepts;
	struct relay relay;
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
				       .relay = &a->relay,
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

START_TEST(resolvers_are_changed_and_shown)
{
	struct answering a;
	char got[4096];
	json_t *doc, *list;
	ssize_t n;

	begin_answering(&a, "{\"rules\":[]}");
	request(&a, "{\"resolvers\":[\"192.0.2.1\",\"2001:db8::1\"]}");
	n = recv(a.keeper, got, sizeof(got), 0);
	ck_assert_int_eq(n, 11);
	ck_assert_mem_eq(got, "{\"ok\":true}", 11);
	a.relay.first = 1;
	request(&a, "{\"show\":true}");
	n = recv(a.keeper, got, sizeof(got), 0);
	ck_assert_int_gt(n, 0);
	doc = json_loadb(got, (size_t)n, 0, NULL);
	list = json_object_get(doc, "resolvers");
	ck_assert_uint_eq(json_array_size(list), 2);
	ck_assert_str_eq(json_string_value(json_array_get(list, 0)),
			 "2001:db8::1");
	ck_assert_str_eq(json_string_value(json_array_get(list, 1)),
			 "192.0.2.1");
	ck_assert(json_is_null(json_object_get(doc, "ca_sha256")));
	json_decref(doc);
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
	long arg[6];
};

/* Of x32, which has the same numbers, and a table of its own. */
#define X32 0x40000000l

static int status_of(const struct call *c)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (jail_enter(NULL) < 0)
			_exit(99);
		(void)syscall(c->nr, c->arg[0], c->arg[1], c->arg[2], c->arg[3],
			      c->arg[4], c->arg[5]);
		(void)syscall(SYS_exit_group, 0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void all_kill(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int status = status_of(&calls[i]);

		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
			      "%s: %#x", calls[i].name, (unsigned)status);
	}
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
#ifdef __x86_64__
		{ "x32", X32 | SYS_getpid, { 0 } },
#endif
	};

	all_kill(forbidden, ARRAY_LEN(forbidden));
}
END_TEST

/* Each is one that is allowed, but for one argument. */
START_TEST(what_is_allowed_with_other_arguments_kills)
{
	const struct call forbidden[] = {
		{ "a signal to another", SYS_tgkill, { getpid(), getpid() } },
		{ "SCTP", SYS_socket, { AF_INET, SOCK_STREAM, 132 } },
		{ "MPTCP", SYS_socket, { AF_INET6, SOCK_STREAM, 262 } },
		{ "UDP-Lite", SYS_socket, { AF_INET, SOCK_DGRAM, 136 } },
		{ "a pair of another protocol",
		  SYS_socketpair,
		  { AF_UNIX, SOCK_STREAM, 1 } },
		{ "a family of 64 bits",
		  SYS_socket,
		  { AF_INET | 1l << 32, SOCK_STREAM } },
		{ "SO_BINDTODEVICE",
		  SYS_setsockopt,
		  { -1, SOL_SOCKET, SO_BINDTODEVICE } },
		{ "SO_MARK", SYS_setsockopt, { -1, SOL_SOCKET, SO_MARK } },
		{ "SO_ATTACH_FILTER",
		  SYS_setsockopt,
		  { -1, SOL_SOCKET, SO_ATTACH_FILTER } },
		{ "TCP_ULP", SYS_setsockopt, { -1, IPPROTO_TCP, 31 } },
		{ "TCP_REPAIR", SYS_setsockopt, { -1, IPPROTO_TCP, 19 } },
		{ "IP_TRANSPARENT", SYS_setsockopt, { -1, IPPROTO_IP, 19 } },
		{ "IPV6_HDRINCL", SYS_setsockopt, { -1, IPPROTO_IPV6, 36 } },
		{ "netfilter's", SYS_setsockopt, { -1, IPPROTO_IP, 64 } },
		{ "SO_PEERCRED", SYS_getsockopt, { -1, SOL_SOCKET, 17 } },
		{ "TCP's options read",
		  SYS_getsockopt,
		  { -1, IPPROTO_TCP, 1 } },
		{ "an end of reading", SYS_shutdown, { -1, SHUT_RD } },
		{ "to somebody else", SYS_sendto, { -1, 0, 0, 0, 1, 16 } },
		{ "signals of a file",
		  SYS_fcntl,
		  { -1, F_SETFL, O_ASYNC | O_NONBLOCK } },
		{ "a copy of a file", SYS_fcntl, { 0, F_DUPFD } },
		{ "memory to execute", SYS_mprotect, { 0, 0, PROT_EXEC } },
#if !SANITIZED
		{ "who sent it", SYS_recvfrom, { -1, 0, 0, 0, 1 } },
		{ "new memory to execute",
		  SYS_mmap,
		  { 0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 } },
		{ "a file in memory",
		  SYS_mmap,
		  { 0, 4096, PROT_READ, MAP_PRIVATE, 0 } },
		{ "memory of others",
		  SYS_mmap,
		  { 0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1 } },
		{ "memory moved to a place",
		  SYS_mremap,
		  { 0, 0, 0, MREMAP_MAYMOVE | MREMAP_FIXED } },
		{ "MADV_HWPOISON", SYS_madvise, { 0, 0, 100 } },
		{ "a futex that is moved", SYS_futex, { 0, 3 } },
		{ "a handler", SYS_rt_sigaction, { SIGSYS } },
		{ "bytes to elsewhere", SYS_write, { 3 } },
		{ "prctl", SYS_prctl, { PR_SET_NAME } },
#endif
	};

	all_kill(forbidden, ARRAY_LEN(forbidden));
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
		{ "an echo",
		  SYS_socket,
		  { AF_INET, SOCK_DGRAM, IPPROTO_ICMP } },
		{ "an echo over IPv6",
		  SYS_socket,
		  { AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 } },
		{ "SIOCOUTQ", SYS_ioctl, { -1, 0x5411 } },
		{ "SO_LINGER", SYS_setsockopt, { -1, SOL_SOCKET, SO_LINGER } },
		{ "SO_ERROR", SYS_getsockopt, { -1, SOL_SOCKET, SO_ERROR } },
		{ "the end of writing", SYS_shutdown, { -1, SHUT_WR } },
		{ "O_NONBLOCK", SYS_fcntl, { -1, F_SETFL, O_NONBLOCK } },
		{ "the time", SYS_clock_gettime, { CLOCK_MONOTONIC } },
#ifdef SYS_time
		{ "the date", SYS_time, { 0 } },
#endif
		{ "the time of day", SYS_gettimeofday, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		ck_assert_msg(status_of(&allowed[i]) == 0, "%s",
			      allowed[i].name);
}
END_TEST

/* Not by the list, which would hide what went wrong. */
START_TEST(who_aborts_dies_of_that)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)signal(SIGABRT, SIG_DFL);
		if (jail_enter(NULL) < 0)
			_exit(99);
		abort();
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

CHECK_MAIN("net_parts", the_first_message_is_read,
	   a_first_message_that_is_none_gets_a_sentence,
	   a_message_that_is_too_long_gets_a_sentence, requests_are_read,
	   requests_that_are_none_get_a_sentence,
	   denials_are_told_and_then_counted,
	   last_denials_before_a_silence_are_told,
	   a_keeper_that_does_not_read_holds_up_nothing,
	   an_answer_waits_for_room, resolvers_are_changed_and_shown,
	   what_is_shown_has_a_limit, what_is_forbidden_kills,
	   what_is_allowed_with_other_arguments_kills, what_it_is_for_it_may,
	   who_aborts_dies_of_that)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_helper.c - host/keeper/net: the program that carries a
 * VM's frames, in place of which a script is started here
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static void put_program(struct host_env *v, const char *name,
			const char *script)
{
	char path[4200];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/x/%s", v->dir, name);
	/* It may be a link to a real one. */
	(void)unlink(path);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	(void)fprintf(f, "#!/bin/sh\ncd '%s'\n%s", v->dir, script);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

static void put_passt(struct host_env *v, const char *script)
{
	put_program(v, "passt", script);
}

static struct hutch_vm *start(struct host_env *v, const char *net)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;

	o.name = "web";
	o.net = net;
	o.wait = HUTCH_WAIT_READY;
	return host_start_with(v, "", &o);
}

/* Bytes of a file of the environment's, as a string. */
static void read_text(const struct host_env *v, const char *name, char *buf,
		      size_t cap)
{
	char path[4200];
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", v->dir, name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "no %s", path);
	n = fread(buf, 1, cap - 1, f);
	buf[n] = '\0';
	ck_assert_int_eq(fclose(f), 0);
}

/* The event of @kind, after whatever comes before it. */
static void await(struct host_env *v, struct hutch_events *ev, const char *kind,
		  struct hutch_vm_event *ret)
{
	do
		ck_assert_int_eq(
			hutch_events_wait(ev, ret, HOST_LONG_MS, &v->e), 1);
	while (strcmp(ret->kind, kind) != 0);
}

START_TEST(network_is_on_record_and_its_program_ends_with_the_vm)
{
	struct hutch_record *rec;
	struct host_env v;
	char text[1024];
	int pid;

	host_env_init(&v);
	/* Its link is 3; on 1 it says that it is ready, a while later. */
	put_passt(&v, "echo $$ >pid.new; echo \"$*\" >words\nsleep 1\n"
		      "mv pid.new pid\necho $$; exec cat <&3 >/dev/null\n");
	hutch_vm_close(start(&v, "passt,mtu=1400"));
	rec = host_inspect(&v);
	ck_assert_str_eq(rec->net, "passt,mtu=1400");
	hutch_record_free(rec);
	read_text(&v, "pid", text, sizeof(text));
	pid = (int)strtol(text, NULL, 10);
	ck_assert_int_gt(pid, 1);
	ck_assert_int_eq(kill(pid, 0), 0);
	read_text(&v, "words", text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "--fd 3 "));
	ck_assert_ptr_nonnull(strstr(text, "--no-map-gw"));
	host_kill_and_rm(&v);
	ck_assert_int_eq(kill(pid, 0), -1);
	host_env_done(&v);
}
END_TEST

START_TEST(end_of_the_program_is_an_event_and_the_vm_goes_on)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	put_passt(&v, "cd /; echo $$; sleep 2; echo first >&2\n"
		      "echo no route >&2; exit 3\n");
	hutch_vm_close(start(&v, "passt"));
	ck_assert_int_eq(
		hutch_events_open(v.h, "web", HUTCH_EVENTS_FOLLOW, &ev, &v.e),
		0);
	await(&v, ev, "net-ended", &e);
	ck_assert_str_eq(e.text, "exit code 3: no route");
	hutch_events_close(ev);
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->state, HUTCH_STATE_RUNNING);
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* ---- hutch-net, with a policy ---- */

static struct hutch_vm *start_policy(struct host_env *v, const char *net,
				     const char *policy)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;

	o.name = "web";
	o.net = net;
	o.net_policy = policy;
	o.wait = HUTCH_WAIT_READY;
	return host_start_with(v, "", &o);
}

static void expect_shown(struct host_env *v, const char *text)
{
	char *json = NULL;

	ck_assert_msg(hutch_net_show(v->h, "web", &json, &v->e) == 0, "%s",
		      v->e.msg);
	ck_assert_msg(strstr(json, text), "%s", json);
	free(json);
}

START_TEST(policy_is_shown_and_changed_while_the_vm_runs)
{
	static const char second[] = "{\"rules\":[{\"deny\":\"a.test\"}]}";
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(start_policy(&v, "internet,mtu=1500", NULL));
	expect_shown(&v, "allow internet");
	ck_assert_int_eq(hutch_net_set(v.h, "web", "{\"rules\":[{}]}", 0, &v.e),
			 -EINVAL);
	ck_assert_msg(strstr(v.e.msg, "rule 1"), "%s", v.e.msg);
	expect_shown(&v, "allow internet");
	ck_assert_int_eq(
		hutch_net_set(v.h, "web",
			      "{\"rules\":[{\"intercept\":\"a.test\"}]}", 0,
			      &v.e),
		-EINVAL);
	ck_assert_msg(strstr(v.e.msg, "without a rule that intercepts"), "%s",
		      v.e.msg);
	ck_assert_int_eq(hutch_net_set(v.h, "nosuch", second, 0, &v.e),
			 -ENOENT);
	ck_assert_msg(hutch_net_set(v.h, "web", second, HUTCH_NET_CUT, &v.e) ==
			      0,
		      "%s", v.e.msg);
	expect_shown(&v, "deny a.test");
	rec = host_inspect(&v);
	ck_assert_str_eq(rec->net, "policy,mtu=1500");
	ck_assert_str_eq(rec->net_policy, second);
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	ck_assert_int_eq(hutch_net_set(v.h, "web", second, 0, &v.e), -ENOENT);
	host_env_done(&v);
}
END_TEST

START_TEST(network_without_a_policy_has_none_to_show)
{
	struct host_env v;
	char *json = NULL;

	host_env_init(&v);
	hutch_vm_close(start(&v, "none"));
	ck_assert_int_eq(hutch_net_show(v.h, "web", &json, &v.e), -EOPNOTSUPP);
	ck_assert_ptr_null(json);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* The keeper's only other child is the monitor. */
static void kill_hutch_net(struct host_env *v)
{
	struct hutch_record *rec = host_inspect(v);
	char path[64], line[256] = "", *at = line, *end;
	int n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		       (int)rec->keeper_pid, (int)rec->keeper_pid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	for (long pid = strtol(at, &end, 10); end != at;
	     pid = strtol(at, &end, 10)) {
		if (pid != rec->vmm_pid) {
			ck_assert_int_eq(kill((pid_t)pid, SIGKILL), 0);
			n++;
		}
		at = end;
	}
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(fclose(f), 0);
	hutch_record_free(rec);
}

START_TEST(hutch_net_that_dies_is_no_network)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;
	char *json = NULL;

	host_env_init(&v);
	hutch_vm_close(start(&v, "internet"));
	ck_assert_int_eq(
		hutch_events_open(v.h, "web", HUTCH_EVENTS_FOLLOW, &ev, &v.e),
		0);
	kill_hutch_net(&v);
	await(&v, ev, "net-ended", &e);
	ck_assert_str_eq(e.text, "killed by signal 9");
	hutch_events_close(ev);
	ck_assert_int_eq(hutch_net_show(v.h, "web", &json, &v.e), -EPIPE);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* It may have been broken into, and a kind is shown as it is. */
START_TEST(hutch_net_tells_of_denials_alone)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;

	host_env_init(&v);
	put_program(
		&v, "hutch-net",
		"printf %s '{\"ok\":true}' >&4\n"
		"for kind in stopped 'net-\\u001b[2J' net-ended net-denied\n"
		"do printf %s \"{\\\"event\\\":\\\"$kind\\\"}\" >&4\n"
		"done\nexec cat <&3 >/dev/null\n");
	hutch_vm_close(start(&v, "internet"));
	ck_assert_int_eq(
		hutch_events_open(v.h, "web", HUTCH_EVENTS_FOLLOW, &ev, &v.e),
		0);
	do {
		ck_assert_int_eq(hutch_events_wait(ev, &e, HOST_LONG_MS, &v.e),
				 1);
		ck_assert_str_ne(e.kind, "stopped");
		if (strncmp(e.kind, "net-", 4) == 0)
			ck_assert_str_eq(e.kind, "net-denied");
	} while (strcmp(e.kind, "net-denied") != 0);
	hutch_events_close(ev);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

static void expect_refused(struct host_env *v, const char *net,
			   const char *policy, int code, const char *sentence)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record **list;
	char kernel[4200];

	o.name = "web";
	o.net = net;
	o.net_policy = policy;
	o.kernel = host_env_kernel(v, "", kernel);
	ck_assert_int_eq(hutch_start(v->h, &o, NULL, &v->e), code);
	ck_assert_msg(strstr(v->e.msg, sentence), "%s", v->e.msg);
	ck_assert_int_eq(hutch_list(v->h, &list, &v->e), 0);
	hutch_list_free(list);
}

START_TEST(bad_networks_leave_nothing_behind)
{
	struct host_env v;

	host_env_init(&v);
	expect_refused(&v, "internet=yes", NULL, -EINVAL,
		       "is not none, internet");
	expect_refused(&v, "tap=t,address=1", NULL, -EINVAL,
		       "address is written as");
	expect_refused(&v, "policy", NULL, -EINVAL, "policy needs one");
	expect_refused(&v, "none", "{}", -EINVAL,
		       "is for the network 'policy'");
	expect_refused(&v, "policy", "{", -EINVAL, "is no JSON");
	/* What hutch-net says of it. */
	expect_refused(&v, "policy", "{\"rules\":[{\"allow\":1}]}", -EIO,
		       "network: rule 1: ");
	put_passt(&v, "echo no route >&2; exit 1\n");
	expect_refused(&v, "passt", NULL, -EIO,
		       "network: passt ended before it had begun: no route");
	put_program(&v, "hutch-net", "echo no memory >&2; exit 1\n");
	expect_refused(&v, "internet", NULL, -EIO,
		       "network: hutch-net ended before it had begun: no "
		       "memory");
	/* It is there, and cannot be run. */
	put_passt(&v, "");
	{
		char path[4200];

		(void)snprintf(path, sizeof(path), "%s/x/passt", v.dir);
		ck_assert_int_eq(truncate(path, 0), 0);
	}
	expect_refused(&v, "passt", NULL, -EIO, "network: cannot run");
	host_env_done(&v);
}
END_TEST

static void make_folder(const struct host_env *v, const char *name,
			char path[4200])
{
	(void)snprintf(path, 4200, "%s/%s", v->dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* Which are at most 107 bytes long, or hutch-net refuses them. */
static void handler_in(const char *dir, char policy[4400])
{
	(void)snprintf(policy, 4400,
		       "{\"rules\":[{\"intercept\":\"a.test\",\"handler\":"
		       "\"%s/h.sock\"}]}",
		       dir);
}

START_TEST(handler_where_the_vm_may_write_is_refused)
{
	struct hutch_mount rw = HUTCH_MOUNT_INIT, ro = HUTCH_MOUNT_INIT;
	const struct hutch_mount *const mounts[] = { &rw, &ro, NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	char rw_dir[4200], ro_dir[4200], bad[4400], good[4400];
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	make_folder(&v, "rw", rw_dir);
	make_folder(&v, "ro", ro_dir);
	handler_in(rw_dir, bad);
	handler_in(ro_dir, good);
	rw.source = rw_dir;
	rw.target = "/rw";
	ro.source = ro_dir;
	ro.target = "/ro";
	ro.flags = HUTCH_MOUNT_RDONLY;
	o.name = "web";
	o.net = "policy";
	o.mounts = mounts;
	o.wait = HUTCH_WAIT_READY;
	o.net_policy = good;
	hutch_vm_close(host_start_with(&v, "", &o));
	ck_assert_int_eq(hutch_net_set(v.h, "web", bad, 0, &v.e), -EINVAL);
	ck_assert_msg(strstr(v.e.msg, "rw/h.sock' leads through"), "%s",
		      v.e.msg);
	rec = host_inspect(&v);
	ck_assert_str_eq(rec->net_policy, good);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_net_set(v.h, "web", good, 0, &v.e), 0);
	host_kill_and_rm(&v);
	o.net_policy = bad;
	o.kernel = host_env_kernel(&v, "", good);
	ck_assert_int_eq(hutch_start(v.h, &o, NULL, &v.e), -EIO);
	ck_assert_msg(strstr(v.e.msg, "rw/h.sock' leads through"), "%s",
		      v.e.msg);
	host_env_done(&v);
}
END_TEST

/* Here is where the test is run, and there where the keeper is. */
START_TEST(bundle_of_certificates_is_named_from_here)
{
	char sentence[4300], here[4200];
	struct host_env v;

	host_env_init(&v);
	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	(void)snprintf(sentence, sizeof(sentence),
		       "SSL_CERT_FILE: cannot open '%s/no/such.pem'", here);
	ck_assert_int_eq(setenv("SSL_CERT_FILE", "no/such.pem", 1), 0);
	expect_refused(&v, "policy", "{\"rules\":[{\"intercept\":\"a.test\"}]}",
		       -EIO, sentence);
	ck_assert_int_eq(unsetenv("SSL_CERT_FILE"), 0);
	host_env_done(&v);
}
END_TEST

/* ---- While it has not begun ---- */

/**
 * struct starter - Who starts "web", at the same time as the test does else
 * @r:		What has come of it
 */
struct starter {
	struct host_env *v;
	const char *net;
	pthread_t thread;
	int r;
	struct hutch_err e;
};

static void *start_it(void *arg)
{
	struct starter *s = arg;
	struct hutch_opts o = HUTCH_OPTS_INIT;
	struct hutch_start_opts so = HUTCH_START_OPTS_INIT;
	char state[4200], libexec[4200];
	struct hutch *h;

	(void)snprintf(state, sizeof(state), "%s/s", s->v->dir);
	(void)snprintf(libexec, sizeof(libexec), "%s/x", s->v->dir);
	o.state_dir = state;
	o.libexec_dir = libexec;
	s->r = hutch_open(&o, &h, &s->e);
	if (s->r < 0)
		return NULL;
	so.name = "web";
	so.net = s->net;
	so.kernel = "/dev/null";
	so.wait = HUTCH_WAIT_READY;
	s->r = hutch_start(h, &so, NULL, &s->e);
	hutch_close(h);
	return NULL;
}

/* Returns when its program runs, which says so in the file "runs". */
static void begin(struct starter *s)
{
	const struct timespec step = { .tv_nsec = 10000000 };
	char path[4200];

	ck_assert_int_eq(pthread_create(&s->thread, NULL, start_it, s), 0);
	(void)snprintf(path, sizeof(path), "%s/runs", s->v->dir);
	while (access(path, F_OK) < 0)
		(void)nanosleep(&step, NULL);
	ck_assert_int_eq(unlink(path), 0);
}

static void expect_end(struct starter *s, const char *sentence)
{
	struct hutch_record *rec = NULL;

	ck_assert_int_eq(pthread_join(s->thread, NULL), 0);
	ck_assert_int_eq(s->r, -EIO);
	ck_assert_str_eq(s->e.msg, sentence);
	/* And nothing of it is left. */
	ck_assert_int_eq(hutch_inspect(s->v->h, "web", &rec, &s->e), -ENOENT);
}

START_TEST(others_are_served_while_the_network_has_not_begun)
{
	static const struct {
		const char *program;
		const char *net;
	} t[] = { { "passt", "passt" }, { "hutch-net", "internet" } };
	struct host_env v;

	host_env_init(&v);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct starter s = { .v = &v, .net = t[i].net };
		char *json = NULL;

		put_program(&v, t[i].program, ">runs; exec sleep 1000\n");
		begin(&s);
		ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, 50,
					    NULL, &v.e),
				 -ETIMEDOUT);
		ck_assert_int_lt(hutch_net_show(v.h, "web", &json, &v.e), 0);
		ck_assert_msg(strstr(v.e.msg,
				     i ? "has not begun yet" : "has no policy"),
			      "%s", v.e.msg);
		ck_assert_msg(hutch_stop(v.h, "web", 0, &v.e) == 0, "%s",
			      v.e.msg);
		expect_end(&s, "it was ended as it started: stop");
	}
	host_env_done(&v);
}
END_TEST

START_TEST(hutch_net_that_never_answers_ends_the_start)
{
	struct host_env v;
	struct starter s = { .v = &v, .net = "internet" };
	int r;

	host_env_init(&v);
	put_program(&v, "hutch-net", ">runs; exec sleep 1000\n");
	begin(&s);
	r = hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS, NULL, &v.e);
	ck_assert_int_eq(r, -ESRCH);
	ck_assert_str_eq(v.e.msg, "VM 'web' has ended: host-error(network: "
				  "hutch-net does not answer)");
	expect_end(&s, "network: hutch-net does not answer");
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("net_helper", network_is_on_record_and_its_program_ends_with_the_vm,
	   end_of_the_program_is_an_event_and_the_vm_goes_on,
	   policy_is_shown_and_changed_while_the_vm_runs,
	   network_without_a_policy_has_none_to_show,
	   hutch_net_that_dies_is_no_network, hutch_net_tells_of_denials_alone,
	   bad_networks_leave_nothing_behind,
	   handler_where_the_vm_may_write_is_refused,
	   bundle_of_certificates_is_named_from_here,
	   others_are_served_while_the_network_has_not_begun,
	   hutch_net_that_never_answers_ends_the_start)

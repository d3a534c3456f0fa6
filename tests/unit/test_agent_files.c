/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_files.c - guest-agent: requests about files, job.c */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "guest-agent/job.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

static void ask(struct client *c, const struct msg_file *m)
{
	struct msg_file all = *m;
	uint8_t buf[WIRE_FILE_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	all.user = m->user ? m->user : "";
	all.other = m->other ? m->other : "";
	wire_file_put(&wr, &all);
	ck_assert_int_ge(wr_end(&wr), 0);
	client_send(c, buf, wr.len);
}

static void send_data(struct client *c, uint64_t offset, const char *text)
{
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_file_data_put(&wr, &(struct msg_file_data){ .offset = offset,
							 .data = text,
							 .len = strlen(text) });
	client_send(c, buf, wr.len);
}

/* The last frame is ERROR; its sentence, in @sentence. */
static void want_error(struct client *c, int code, enum wire_error_kind kind,
		       const char *words)
{
	struct msg_error m;
	struct wire_frame f;
	struct err e = { 0 };

	client_want(c, WIRE_ERROR, &f);
	ck_assert_int_eq(wire_error_parse(f.data, f.len, &m, &e), 0);
	ck_assert_msg(m.code == (uint32_t)code && m.kind == kind &&
			      strstr(m.sentence, words),
		      "%u %u '%s'", m.code, m.kind, m.sentence);
	ck_assert_int_eq(client_next(c, &f), 0);
	client_close(c);
}

static void begin(struct client *c, struct kit *k, const struct msg_file *m)
{
	struct wire_frame f;

	client_open(c, k, true);
	ask(c, m);
	client_want(c, WIRE_HELLO, &f);
}

static bool no_job(const struct kit *k)
{
	return k->a.n_jobs == 0;
}

START_TEST(a_request_is_served_and_its_child_goes)
{
	const struct msg_file m = { .op = WIRE_FILE_STAT, .path = "/" };
	struct msg_entry entry;
	struct wire_frame f;
	struct err e = { 0 };
	struct client c;
	struct kit k;

	kit_init(&k);
	begin(&c, &k, &m);
	client_want(&c, WIRE_FILE_ENTRY, &f);
	ck_assert_int_eq(wire_entry_parse(f.data, f.len, &entry, &e), 0);
	ck_assert_int_eq(entry.kind, WIRE_KIND_DIR);
	client_want(&c, WIRE_DONE, &f);
	ck_assert_int_eq(client_next(&c, &f), 0);
	/* The child waits for us to have it all, and is a client meanwhile. */
	ck_assert_uint_eq(k.a.n_conns, 0);
	ck_assert_uint_eq(k.a.n_jobs, 1);
	ck_assert_uint_eq(k.a.n_clients, 1);
	client_close(&c);
	kit_until(&k, no_job);
	ck_assert_uint_eq(k.a.n_clients, 0);
	kit_done(&k);
}
END_TEST

/* What came behind the request, in the same write, is the child's to read. */
START_TEST(bytes_behind_the_request_are_not_lost)
{
	char path[64];
	uint8_t buf[1024];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct wire_frame f;
	struct client c;
	struct kit k;
	FILE *file;

	kit_init(&k);
	(void)snprintf(path, sizeof(path), "/tmp/hutch-test-%d", (int)getpid());
	wire_hello_put(&wr, &(struct msg_hello){ .version = WIRE_VERSION });
	wire_file_put(&wr, &(struct msg_file){ .op = WIRE_FILE_WRITE,
					       .mode = 0600,
					       .user = "",
					       .path = path,
					       .other = "" });
	wire_file_data_put(&wr, &(struct msg_file_data){ 0, "abc", 3 });
	wire_file_data_put(&wr, &(struct msg_file_data){ 3, "def", 3 });
	wire_empty_put(&wr, WIRE_FILE_COMMIT);
	ck_assert_int_ge(wr_end(&wr), 0);
	client_open(&c, &k, false);
	client_send(&c, buf, wr.len);
	client_want(&c, WIRE_HELLO, &f);
	client_want(&c, WIRE_DONE, &f);
	client_close(&c);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(buf, 1, sizeof(buf), file), 6);
	ck_assert_int_eq(memcmp(buf, "abcdef", 6), 0);
	(void)fclose(file);
	(void)unlink(path);
	kit_done(&k);
}
END_TEST

START_TEST(what_breaks_the_protocol_is_a_bad_request)
{
	static const struct {
		struct msg_file m;
		enum wire_type type;
		uint64_t offset;
		const char *words;
	} v[] = {
		{ { .op = WIRE_FILE_WRITE, .path = "/dev/null" },
		  WIRE_FILE_UP,
		  0,
		  "out of place" },
		{ { .op = WIRE_FILE_WRITE, .path = "/dev/null" },
		  WIRE_FILE_DATA,
		  1,
		  "bytes of a stream are missing" },
		{ { .op = WIRE_FILE_WRITE, .path = "/dev/null" },
		  WIRE_STDIN_CLOSE,
		  0,
		  "out of place" },
		{ { .op = WIRE_FILE_PUT, .path = "/tmp/hutch-none" },
		  WIRE_FILE_COMMIT,
		  0,
		  "out of place" },
		{ { .op = WIRE_FILE_PUT, .path = "/tmp/hutch-none" },
		  WIRE_FILE_DATA,
		  0,
		  "out of place" },
	};
	struct client c;
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		begin(&c, &k, &v[i].m);
		if (v[i].type == WIRE_FILE_DATA)
			send_data(&c, v[i].offset, "x");
		else
			client_empty(&c, v[i].type);
		want_error(&c, EPROTO, WIRE_ERR_BAD_REQUEST, v[i].words);
	}
	kit_until(&k, no_job);
	kit_done(&k);
}
END_TEST

START_TEST(a_user_that_is_not_there_is_refused)
{
	const struct msg_file m = { .op = WIRE_FILE_STAT,
				    .path = "/",
				    .user = "nobody-of-this-name" };
	struct client c;
	struct kit k;

	kit_init(&k);
	begin(&c, &k, &m);
	want_error(&c, ENOENT, WIRE_ERR_GENERAL, "is not in /etc/passwd");
	kit_done(&k);
}
END_TEST

START_TEST(another_user_may_do_less)
{
	const struct msg_file m = { .op = WIRE_FILE_READ,
				    .path = "/etc/shadow",
				    .user = "65534:65534" };
	struct client c;
	struct kit k;

	if (geteuid() != 0)
		return;
	kit_init(&k);
	begin(&c, &k, &m);
	want_error(&c, EACCES, WIRE_ERR_GENERAL, "'/etc/shadow'");
	kit_done(&k);
}
END_TEST

START_TEST(relative_paths_begin_in_the_sandbox_folder)
{
	const struct msg_file m = { .op = WIRE_FILE_STAT, .path = "version" };
	struct wire_frame f;
	struct client c;
	struct kit k;

	kit_init(&k);
	k.boot.cwd = "/proc";
	begin(&c, &k, &m);
	client_want(&c, WIRE_FILE_ENTRY, &f);
	client_close(&c);
	k.boot.cwd = "/nowhere";
	begin(&c, &k, &m);
	want_error(&c, ENOENT, WIRE_ERR_GENERAL, "'/nowhere'");
	kit_done(&k);
}
END_TEST

START_TEST(nothing_is_served_by_what_did_not_boot_or_goes_down)
{
	const struct msg_file m = { .op = WIRE_FILE_STAT, .path = "/" };
	struct client c;
	struct kit k;

	kit_init(&k);
	(void)snprintf(k.a.boot_failed, sizeof(k.a.boot_failed), "no mount");
	begin(&c, &k, &m);
	want_error(&c, EIO, WIRE_ERR_BOOT, "no mount");
	k.a.boot_failed[0] = '\0';
	k.a.stopping = true;
	begin(&c, &k, &m);
	want_error(&c, ESHUTDOWN, WIRE_ERR_GENERAL, "shutting down");
	k.a.stopping = false;
	kit_done(&k);
}
END_TEST

START_TEST(one_request_more_than_the_limit_is_refused)
{
	const struct msg_file m = { .op = WIRE_FILE_WRITE,
				    .path = "/dev/null" };
	static struct client c[AGENT_JOBS_MAX];
	struct client more;
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < AGENT_JOBS_MAX; i++)
		begin(&c[i], &k, &m);
	ck_assert_uint_eq(k.a.n_jobs, AGENT_JOBS_MAX);
	begin(&more, &k, &m);
	want_error(&more, EAGAIN, WIRE_ERR_LIMIT, "64 requests about files");
	for (size_t i = 0; i < AGENT_JOBS_MAX; i++)
		client_close(&c[i]);
	kit_until(&k, no_job);
	begin(&c[0], &k, &m);
	ck_assert_uint_eq(k.a.n_jobs, 1);
	client_close(&c[0]);
	/* What is under way is killed with the agent. */
	kit_done(&k);
	ck_assert_uint_eq(k.a.n_jobs, 0);
}
END_TEST

/* A FIFO that nobody writes to: the child waits for it, and for us to go. */
START_TEST(a_child_that_waits_for_a_file_goes_with_its_client)
{
	char path[64];
	const struct msg_file m = { .op = WIRE_FILE_READ, .path = path };
	struct client c;
	struct kit k;

	kit_init(&k);
	(void)snprintf(path, sizeof(path), "/tmp/hutch-fifo-%d", (int)getpid());
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	begin(&c, &k, &m);
	for (int i = 0; i < 5; i++)
		kit_step(&k, 10);
	ck_assert_uint_eq(k.a.n_jobs, 1);
	client_close(&c);
	kit_until(&k, no_job);
	(void)unlink(path);
	kit_done(&k);
}
END_TEST

/* One that does not see it, as it hangs, is killed when the grace is over. */
START_TEST(a_child_that_hangs_is_killed)
{
	const struct msg_file m = { .op = WIRE_FILE_STAT, .path = "/" };
	struct wire_frame f;
	struct client c;
	struct job *j;
	struct kit k;

	kit_init(&k);
	begin(&c, &k, &m);
	/* By then it holds nothing of this process, which is both ends. */
	client_want(&c, WIRE_FILE_ENTRY, &f);
	j = list_entry(k.a.jobs.next, struct job, link);
	ck_assert_int_eq(kill(j->pid, SIGSTOP), 0);
	client_close(&c);
	while (!loop_timer_is_set(&j->timer))
		kit_step(&k, 10);
	/* Now, and not in half a minute. */
	loop_timer_set(&k.a.loop, &j->timer, 0, j->timer.fn);
	kit_until(&k, no_job);
	kit_done(&k);
}
END_TEST

START_TEST(children_are_in_a_cgroup_of_their_own)
{
	const struct msg_file m = { .op = WIRE_FILE_READ,
				    .path = "/proc/self/cgroup" };
	struct msg_file_data data;
	struct wire_frame f;
	struct err e = { 0 };
	struct client c[2];
	struct kit k;

	kit_init(&k);
	if (!kit_cgroups(&k)) {
		kit_done(&k);
		return;
	}
	/* The second finds the first in it. */
	for (int i = 0; i < 2; i++) {
		begin(&c[i], &k, &m);
		client_want(&c[i], WIRE_FILE_DATA, &f);
		ck_assert_int_eq(wire_file_data_parse(f.data, f.len, &data, &e),
				 0);
		ck_assert_ptr_nonnull(
			memmem(data.data, data.len, "/.files\n", 8));
	}
	for (int i = 0; i < 2; i++)
		client_close(&c[i]);
	kit_until(&k, no_job);
	cgroup_remove(k.a.cgroups.plain, ".files");
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent_files", a_request_is_served_and_its_child_goes,
	   bytes_behind_the_request_are_not_lost,
	   what_breaks_the_protocol_is_a_bad_request,
	   a_user_that_is_not_there_is_refused, another_user_may_do_less,
	   relative_paths_begin_in_the_sandbox_folder,
	   nothing_is_served_by_what_did_not_boot_or_goes_down,
	   one_request_more_than_the_limit_is_refused,
	   a_child_that_waits_for_a_file_goes_with_its_client,
	   a_child_that_hangs_is_killed, children_are_in_a_cgroup_of_their_own)

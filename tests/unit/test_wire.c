/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_wire.c - common/wire: docs/protocol.md's own examples */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/wire_file.h"
#include "common/wire_port.h"
#include "common/wire_proc.h"
#include "tests/lib/check_main.h"

#define FRAME_CAP 4096u

#define START_NS 1700000000000000000ull
#define END_NS   1700000001500000000ull

static const char *argv_example[] = { "sh", "-c", "exit 7", NULL };
static const char *env_example[] = { "LANG=C", NULL };

static const struct msg_exec exec_example = {
	.flags = WIRE_EXEC_STDIN | WIRE_EXEC_MAIN | WIRE_EXEC_KEEP_HEAD,
	.grace_ms = 5000,
	.timeout_ms = 60000,
	.argc = 3,
	.envc = 1,
	.ring = 4096,
	.pids = 64,
	.memory = 1 << 20,
	.cpu_weight = 200,
	.id = "build-1",
	.user = "1000:1000",
	.cwd = "/tmp",
	.argv = argv_example,
	.env = env_example,
};

static const struct msg_process process_example = {
	.pid = 57,
	.state = WIRE_PROC_LINGERING,
	.how = WIRE_HOW_EXITED,
	.flags = WIRE_PROC_MAIN | WIRE_PROC_FOREGROUND,
	.value = 7,
	.start_ns = START_NS,
	.end_ns = END_NS,
	.timeout_ms = 60000,
	.stdout_total = 1024,
	.stderr_total = 6,
	.stdout_cut = 1000,
	.memory = 1 << 20,
	.pids = 64,
	.cpu_weight = 200,
	.attached = 1,
	.grace_ms = 5000,
	.argc = 3,
	.envc = 1,
	.id = "build-1",
	.user = "1000:1000",
	.cwd = "/tmp",
	.argv = argv_example,
	.env = env_example,
};

static struct msg_mount mounts_example[] = {
	{ .flags = WIRE_MOUNT_RDONLY | WIRE_MOUNT_NOSUID,
	  .type = "tmpfs",
	  .source = "none",
	  .target = "/data",
	  .options = "size=1m" },
};

static const struct msg_boot boot_example = {
	.flags = WIRE_BOOT_MAKE_CWD | WIRE_BOOT_NET,
	.root = WIRE_ROOT_OVERLAY,
	.stop_signal = 3,
	.clock_ns = 1700000000000000000ull,
	.envc = 1,
	.n_mounts = 1,
	.hostname = "web",
	.cwd = "/",
	.user = "",
	.lower = "hutch-image",
	.upper = "hutch-disk",
	.env = env_example,
	.mounts = mounts_example,
	.net = { .mtu = 1500,
		 .n_addrs = 1,
		 .n_routes = 1,
		 .n_dns = 1,
		 .n_search = 1,
		 .name = "eth0",
		 .addr = { { 4, 24, { 198, 18, 0, 2 } } },
		 .route = { { { 4, 0, { 0 } }, { 4, 32, { 198, 18, 0, 1 } } } },
		 .dns = { { 4, 32, { 198, 18, 0, 1 } } },
		 .search = { "lan" },
		 .ca = "" },
};

/*
 * Both directions of a type: put() makes the frame of the document's example,
 * again() parses a payload and composes from what it found.
 */
#define SIMPLE(name, kind, ...)                                             \
	static void put_##name(struct wr *wr)                               \
	{                                                                   \
		wire_##kind##_put(wr, &(struct msg_##kind){ __VA_ARGS__ }); \
	}                                                                   \
	static int again_##name(const void *p, size_t len, struct wr *wr,   \
				struct err *e)                              \
	{                                                                   \
		struct msg_##kind m;                                        \
		int r = wire_##kind##_parse(p, len, &m, e);                 \
                                                                            \
		if (r == 0)                                                 \
			wire_##kind##_put(wr, &m);                          \
		return r;                                                   \
	}

SIMPLE(hello, hello, .version = 1)
SIMPLE(shutdown, shutdown, .grace_ms = 10000)
SIMPLE(clock, clock, .ns = 1700000000000000000ull)
SIMPLE(signal, signal, .signo = 2, .scope = WIRE_SCOPE_TREE)
SIMPLE(resize, resize, .cols = 132, .rows = 43)
SIMPLE(started, started, .pid = 57, .start_ns = START_NS, .id = "build-1")
SIMPLE(exit, exit, .how = WIRE_HOW_EXITED, .state = WIRE_STATE_LINGERING,
       .value = 7, .stdout_total = 1024, .stderr_total = 6, .stdout_cut = 1000,
       .end_ns = END_NS)
SIMPLE(error, error, .code = 2, .kind = WIRE_ERR_NOT_FOUND,
       .sentence = "'foo' is not found")
SIMPLE(event, event, .what = WIRE_EVENT_MAIN_ENDED, .how = WIRE_HOW_SIGNALLED,
       .flags = WIRE_EXIT_TIMED_OUT, .value = 9, .time_ns = END_NS,
       .id = "build-1", .text = "")
SIMPLE(stat, stat, .uptime_ns = 5000000000, .mem_total = 264241152,
       .mem_available = 240123904, .started = 12, .running = 2, .lingering = 1,
       .exited = 9, .connections = 3)
SIMPLE(stdin_ack, stdin_ack, .consumed = 65536, .flags = WIRE_ACK_CLOSED)

SIMPLE(attach, attach, .flags = WIRE_ATTACH_FOLLOW | WIRE_ATTACH_BACK,
       .stdout_from = 262144, .id = "build-1")
SIMPLE(list, list, .flags = WIRE_LIST_ENV, .id = "")
SIMPLE(kill, kill, .signo = 15, .scope = WIRE_SCOPE_TREE, .grace_ms = 10000,
       .id = "build-1")
SIMPLE(drop, drop, .id = "build-1")
SIMPLE(wait_port, wait_port, .port = 8080, .id = "web")
SIMPLE(connect, connect, .port = 8080)
SIMPLE(port, port, .port = 8080, .family = WIRE_IPV4, .pid = 57,
       .address = { 127, 0, 0, 1 }, .name = "webd")
SIMPLE(truncated, truncated, .stream = 1, .cursor = 4096, .lost = 1000)

SIMPLE(file, file, .op = WIRE_FILE_PUT,
       .flags = WIRE_FILE_ARCHIVE | WIRE_FILE_CONTENTS, .user = "1000:1000",
       .path = "/srv", .other = "app")
SIMPLE(entry, entry, .kind = WIRE_KIND_FILE, .mode = 0644, .uid = 1000,
       .gid = 100, .nlink = 2, .link = 1, .size = 5, .blocks = 8, .ino = 4711,
       .atime_ns = START_NS, .mtime_ns = END_NS, .ctime_ns = END_NS,
       .name = "notes.txt", .target = "")
SIMPLE(file_data, file_data, .offset = 4096, .data = "hi\n", .len = 3)
SIMPLE(xattr, xattr, .name = "user.a", .data = "1", .len = 1)
SIMPLE(file_end, file_end, .size = 4099)
SIMPLE(note, note, .code = 13, .sentence = "'x': Permission denied")
SIMPLE(watch, watch, .what = WIRE_WATCH_MOVED_FROM, .flags = WIRE_WATCH_DIR,
       .cookie = 77, .path = "src/old")

static void put_process(struct wr *wr)
{
	wire_process_put(wr, &process_example);
}

static int again_process(const void *p, size_t len, struct wr *wr,
			 struct err *e)
{
	struct msg_process m;
	int r = wire_process_parse(p, len, &m, e);

	if (r < 0)
		return r;
	ck_assert_ptr_null(m.argv[m.argc]);
	ck_assert_ptr_null(m.env[m.envc]);
	ck_assert_uint_eq(wire_process_size(&m), WIRE_HDR_LEN + len);
	wire_process_put(wr, &m);
	wire_process_done(&m);
	wire_process_done(&m);
	return 0;
}

static void put_exec(struct wr *wr)
{
	wire_exec_put(wr, &exec_example);
}

static int again_exec(const void *p, size_t len, struct wr *wr, struct err *e)
{
	struct msg_exec m;
	int r = wire_exec_parse(p, len, &m, e);

	if (r < 0)
		return r;
	/* As execve() wants them. */
	ck_assert_ptr_null(m.argv[m.argc]);
	ck_assert_ptr_null(m.env[m.envc]);
	ck_assert_uint_eq(wire_exec_size(&m), WIRE_HDR_LEN + len);
	wire_exec_put(wr, &m);
	wire_exec_done(&m);
	wire_exec_done(&m);
	return 0;
}

static void put_boot(struct wr *wr)
{
	wire_boot_put(wr, &boot_example);
}

static int again_boot(const void *p, size_t len, struct wr *wr, struct err *e)
{
	struct msg_boot m;
	int r = wire_boot_parse(p, len, &m, e);

	if (r < 0)
		return r;
	ck_assert_ptr_null(m.env[m.envc]);
	ck_assert_uint_eq(wire_boot_size(&m), WIRE_HDR_LEN + len);
	wire_boot_put(wr, &m);
	wire_boot_done(&m);
	wire_boot_done(&m);
	return 0;
}

static void put_stdin(struct wr *wr)
{
	wire_stdin_put(wr, "hi\n", 3);
}

static int again_stdin(const void *p, size_t len, struct wr *wr, struct err *e)
{
	wire_stdin_put(wr, p, len);
	return 0;
}

static void put_output(struct wr *wr)
{
	wire_output_put(wr, WIRE_STDOUT,
			&(struct msg_output){ .cursor = 1021,
					      .time_ns = START_NS,
					      .data = "hi\n",
					      .len = 3 });
}

static int again_output(const void *p, size_t len, struct wr *wr, struct err *e)
{
	struct msg_output m;
	int r = wire_output_parse(p, len, &m, e);

	if (r == 0)
		wire_output_put(wr, WIRE_STDOUT, &m);
	return r;
}

static void put_stderr(struct wr *wr)
{
	wire_output_put(wr, WIRE_STDERR,
			&(struct msg_output){ .time_ns = START_NS,
					      .data = "oh\n",
					      .len = 3 });
}

static int again_stderr(const void *p, size_t len, struct wr *wr, struct err *e)
{
	struct msg_output m;
	int r = wire_output_parse(p, len, &m, e);

	if (r == 0)
		wire_output_put(wr, WIRE_STDERR, &m);
	return r;
}

/** struct example - A type; put and again are NULL if it has no payload */
struct example {
	enum wire_type type;
	enum wire_side from;
	void (*put)(struct wr *wr);
	int (*again)(const void *p, size_t len, struct wr *wr, struct err *e);
};

#define C WIRE_FROM_CLIENT
#define A WIRE_FROM_AGENT

static const struct example examples[] = {
	{ WIRE_HELLO, C, put_hello, again_hello },
	{ WIRE_EXEC, C, put_exec, again_exec },
	{ WIRE_EVENTS, C, NULL, NULL },
	{ WIRE_SHUTDOWN, C, put_shutdown, again_shutdown },
	{ WIRE_CLOCK, C, put_clock, again_clock },
	{ WIRE_STAT, C, NULL, NULL },
	{ WIRE_ATTACH, C, put_attach, again_attach },
	{ WIRE_LIST, C, put_list, again_list },
	{ WIRE_KILL, C, put_kill, again_kill },
	{ WIRE_DROP, C, put_drop, again_drop },
	{ WIRE_WAIT_PORT, C, put_wait_port, again_wait_port },
	{ WIRE_CONNECT, C, put_connect, again_connect },
	{ WIRE_PORTS, C, NULL, NULL },
	{ WIRE_STDIN, C, put_stdin, again_stdin },
	{ WIRE_STDIN_CLOSE, C, NULL, NULL },
	{ WIRE_SIGNAL, C, put_signal, again_signal },
	{ WIRE_RESIZE, C, put_resize, again_resize },
	{ WIRE_CLOSE_STDOUT, C, NULL, NULL },
	{ WIRE_CLOSE_STDERR, C, NULL, NULL },
	{ WIRE_FILE, C, put_file, again_file },
	{ WIRE_FILE_ENTRY, C, put_entry, again_entry },
	{ WIRE_FILE_DATA, A, put_file_data, again_file_data },
	{ WIRE_FILE_XATTR, C, put_xattr, again_xattr },
	{ WIRE_FILE_END, A, put_file_end, again_file_end },
	{ WIRE_FILE_UP, C, NULL, NULL },
	{ WIRE_FILE_COMMIT, C, NULL, NULL },
	{ WIRE_STARTED, A, put_started, again_started },
	{ WIRE_STDOUT, A, put_output, again_output },
	{ WIRE_STDERR, A, put_stderr, again_stderr },
	{ WIRE_EXIT, A, put_exit, again_exit },
	{ WIRE_ERROR, A, put_error, again_error },
	{ WIRE_EVENT, A, put_event, again_event },
	{ WIRE_DONE, A, NULL, NULL },
	{ WIRE_STAT_ANSWER, A, put_stat, again_stat },
	{ WIRE_STDIN_ACK, A, put_stdin_ack, again_stdin_ack },
	{ WIRE_TRUNCATED, A, put_truncated, again_truncated },
	{ WIRE_PROCESS, A, put_process, again_process },
	{ WIRE_FILE_NOTE, A, put_note, again_note },
	{ WIRE_FILE_EVENT, A, put_watch, again_watch },
	{ WIRE_PORT, A, put_port, again_port },
	{ WIRE_BOOT, WIRE_FROM_FILE, put_boot, again_boot },
};

/* Data has no inner form that a cut could break. */
static bool is_data(enum wire_type type)
{
	return type == WIRE_STDIN || type == WIRE_STDOUT ||
	       type == WIRE_STDERR || type == WIRE_FILE_DATA ||
	       type == WIRE_FILE_XATTR;
}

static size_t make(const struct example *x, uint8_t buf[FRAME_CAP])
{
	struct wr wr = wr_init(buf, FRAME_CAP);

	if (x->put)
		x->put(&wr);
	else
		wire_empty_put(&wr, x->type);
	ck_assert_int_ge(wr_end(&wr), 0);
	return wr.len;
}

/* The bytes of a block "```hex NAME", which ends with "```". */
static size_t doc_example(const char *doc, const char *name,
			  uint8_t buf[FRAME_CAP])
{
	char head[64];
	const char *p;
	size_t len = 0;

	(void)snprintf(head, sizeof(head), "\n```hex %s\n", name);
	p = strstr(doc, head);
	ck_assert_msg(p != NULL, "protocol.md has no example of %s", name);
	for (p += strlen(head); *p != '`' && len < FRAME_CAP;) {
		char *end;

		buf[len++] = (uint8_t)strtoul(p, &end, 16);
		ck_assert_msg(end == p + 2, "%s: bad hex at '%.8s'", name, p);
		p = end + strspn(end, " \n");
	}
	return len;
}

static void read_doc(char **ret)
{
	struct err e = { 0 };

	ck_assert_msg(io_read_file(AT_FDCWD, SOURCE_ROOT "/docs/protocol.md",
				   1 << 20, ret, NULL, &e) == 0,
		      "%s", e.msg);
}

START_TEST(document_examples_are_what_is_composed)
{
	auto_free char *doc = NULL;
	uint8_t want[FRAME_CAP], got[FRAME_CAP];

	read_doc(&doc);
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const char *name = wire_type_name(examples[i].type);
		size_t len = make(&examples[i], want);

		ck_assert_msg(doc_example(doc, name, got) == len &&
				      memcmp(got, want, len) == 0,
			      "protocol.md: the example of %s is not the frame",
			      name);
	}
}
END_TEST

START_TEST(document_examples_are_parsed_whole)
{
	auto_free char *doc = NULL;
	uint8_t bytes[FRAME_CAP], again[FRAME_CAP];

	read_doc(&doc);
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *x = &examples[i];
		size_t len = doc_example(doc, wire_type_name(x->type), bytes);
		struct wr wr = wr_init(again, FRAME_CAP);
		struct wire_reader r;
		struct wire_frame f;
		struct err e = { 0 };

		wire_reader_init(&r, x->from);
		ck_assert_int_eq(wire_reader_push(&r, bytes, len), len);
		ck_assert_msg(wire_reader_next(&r, &f, &e) == 1, "%s", e.msg);
		ck_assert_int_eq(f.type, x->type);
		if (x->again) {
			auto_free void *p = check_copy(f.data, f.len);

			ck_assert_msg(x->again(p, f.len, &wr, &e) == 0, "%s",
				      e.msg);
		} else {
			ck_assert_uint_eq(f.len, 0);
			wire_empty_put(&wr, f.type);
		}
		ck_assert_uint_eq(wr.len, len);
		ck_assert_int_eq(memcmp(again, bytes, len), 0);
		wire_reader_done(&r);
	}
}
END_TEST

START_TEST(payload_cut_anywhere_is_refused)
{
	uint8_t bytes[FRAME_CAP], out[FRAME_CAP];

	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *x = &examples[i];
		size_t len = make(x, bytes) - WIRE_HDR_LEN;

		if (!x->again || is_data(x->type))
			continue;
		for (size_t cut = 0; cut < len; cut++) {
			auto_free void *p =
				check_copy(bytes + WIRE_HDR_LEN, cut);
			struct wr wr = wr_init(out, FRAME_CAP);
			struct err e = { 0 };

			ck_assert_int_eq(x->again(p, cut, &wr, &e), -EBADMSG);
			ck_assert_uint_gt(strlen(e.msg), 0);
		}
	}
}
END_TEST

START_TEST(payload_with_a_byte_too_many_is_refused)
{
	uint8_t bytes[FRAME_CAP], out[FRAME_CAP];

	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *x = &examples[i];
		size_t len = make(x, bytes) - WIRE_HDR_LEN;
		struct wr wr = wr_init(out, FRAME_CAP);
		auto_free uint8_t *p = NULL;
		struct err e = { 0 };

		if (!x->again || is_data(x->type))
			continue;
		bytes[WIRE_HDR_LEN + len] = 0;
		p = check_copy(bytes + WIRE_HDR_LEN, len + 1);
		ck_assert_int_eq(x->again(p, len + 1, &wr, &e), -EBADMSG);
	}
}
END_TEST

/**
 * struct spoil - One change to a sound frame's payload that makes it unsound
 * @at:		Offset in the payload
 * @says:	In the refusal's sentence
 */
struct spoil {
	enum wire_type type;
	uint16_t at;
	uint8_t value;
	const char *says;
};

static const struct example *example_of(enum wire_type type)
{
	for (size_t i = 0; i < ARRAY_LEN(examples); i++)
		if (examples[i].type == type)
			return &examples[i];
	ck_abort();
}

START_TEST(one_wrong_field_is_refused_by_name)
{
	static const struct spoil v[] = {
		{ WIRE_HELLO, 0, 'h', "magic" },
		{ WIRE_HELLO, 4, 2, "version 2" },
		{ WIRE_HELLO, 6, 1, "reserved" },
		{ WIRE_EXEC, 1, 2, "unknown flags 0x200" },
		{ WIRE_EXEC, 0, 1 | 4, "PTY excludes" },
		{ WIRE_EXEC, 0, 1 | 8, "PTY excludes" },
		{ WIRE_EXEC, 0, 1 | 16, "PTY excludes" },
		{ WIRE_EXEC, 0, 16 | 4, "COMBINED excludes" },
		{ WIRE_EXEC, 0, 16 | 8, "COMBINED excludes" },
		{ WIRE_EXEC, 7, 0xff, "grace" },
		{ WIRE_EXEC, 16, 80, "without PTY" },
		{ WIRE_EXEC, 18, 24, "without PTY" },
		{ WIRE_EXEC, 20, 0, "0 arguments" },
		{ WIRE_EXEC, 22, 1, "arguments, not" },
		{ WIRE_EXEC, 26, 1, "environment strings, not" },
		{ WIRE_EXEC, 28, 1, "reserved" },
		{ WIRE_EXEC, 33, 0x0f, "3840 bytes to keep" },
		{ WIRE_EXEC, 35, 5, "bytes to keep" },
		{ WIRE_EXEC, 42, 0x0f, "memory limit" },
		{ WIRE_EXEC, 50, 1, "cpu weight" },
		{ WIRE_EXEC, 52, 1, "reserved" },
		{ WIRE_EXEC, 60, 'B', "id is not" },
		{ WIRE_EXEC, 86, 't', "cwd is not absolute" },
		{ WIRE_EXEC, 124, '-', "not KEY=VALUE" },
		{ WIRE_EXEC, 122, 0, "bad string" },
		{ WIRE_SHUTDOWN, 3, 0xff, "grace" },
		{ WIRE_SHUTDOWN, 4, 1, "reserved" },
		{ WIRE_CLOCK, 7, 0xff, "not a time" },
		{ WIRE_SIGNAL, 0, 0, "0 is not 1 to 64" },
		{ WIRE_SIGNAL, 0, 65, "65 is not 1 to 64" },
		{ WIRE_SIGNAL, 4, 0, "scope 0" },
		{ WIRE_SIGNAL, 4, 3, "scope 3" },
		{ WIRE_SIGNAL, 6, 1, "reserved" },
		{ WIRE_RESIZE, 0, 0, "no size" },
		{ WIRE_RESIZE, 2, 0, "no size" },
		{ WIRE_STARTED, 4, 1, "reserved" },
		{ WIRE_STARTED, 15, 0x80, "time" },
		{ WIRE_STARTED, 20, '/', "not a name" },
		{ WIRE_STDOUT, 7, 0x80, "cursor" },
		{ WIRE_STDERR, 15, 0x80, "time" },
		{ WIRE_EXIT, 0, 0, "unknown end" },
		{ WIRE_EXIT, 0, 3, "unknown end" },
		{ WIRE_EXIT, 2, 0, "unknown state" },
		{ WIRE_EXIT, 2, 3, "unknown state" },
		{ WIRE_EXIT, 4, 8, "unknown flags" },
		{ WIRE_EXIT, 9, 1, "out of range" },
		{ WIRE_EXIT, 12, 1, "reserved" },
		{ WIRE_EXIT, 34, 1, "bytes cut of 1024" },
		{ WIRE_EXIT, 40, 7, "7 bytes cut of 6" },
		{ WIRE_EXIT, 55, 0x80, "time" },
		{ WIRE_ERROR, 0, 0, "no errno" },
		{ WIRE_ERROR, 1, 0x10, "no errno" },
		{ WIRE_ERROR, 4, 0, "unknown kind" },
		{ WIRE_ERROR, 4, 8, "unknown kind" },
		{ WIRE_ERROR, 6, 1, "reserved" },
		{ WIRE_EVENT, 0, 0, "unknown event" },
		{ WIRE_EVENT, 0, 8, "unknown event" },
		{ WIRE_EVENT, 0, 2, "no exit status" },
		{ WIRE_EVENT, 0, 3, "unknown flags" },
		{ WIRE_EVENT, 0, 5, "no exit status" },
		{ WIRE_EVENT, 0, 7, "no exit status" },
		{ WIRE_EVENT, 0, 6, "bad BUSY" },
		{ WIRE_EVENT, 2, 3, "unknown end" },
		{ WIRE_EVENT, 4, 8, "unknown flags" },
		{ WIRE_EVENT, 8, 65, "out of range" },
		{ WIRE_EVENT, 8, 0, "out of range" },
		{ WIRE_EVENT, 12, 1, "reserved" },
		{ WIRE_EVENT, 23, 0x80, "time" },
		{ WIRE_EVENT, 28, '.', "not a name" },
		{ WIRE_ATTACH, 0, 0x40, "unknown flags 0x40" },
		{ WIRE_ATTACH, 4, 1, "reserved" },
		{ WIRE_ATTACH, 15, 0x80, "a cursor is too large" },
		{ WIRE_ATTACH, 23, 0x80, "a cursor is too large" },
		{ WIRE_ATTACH, 28, '.', "not a name" },
		{ WIRE_LIST, 0, 2, "unknown flags" },
		{ WIRE_LIST, 4, 1, "reserved" },
		{ WIRE_KILL, 0, 0, "0 is not 1 to 64" },
		{ WIRE_KILL, 0, 65, "65 is not 1 to 64" },
		{ WIRE_KILL, 4, 0, "scope 0" },
		{ WIRE_KILL, 4, 1, "whole tree" },
		{ WIRE_KILL, 6, 1, "reserved" },
		{ WIRE_KILL, 11, 0xff, "grace" },
		{ WIRE_KILL, 12, 1, "reserved" },
		{ WIRE_KILL, 20, '.', "not a name" },
		{ WIRE_DROP, 4, '.', "not a name" },
		{ WIRE_WAIT_PORT, 2, 1, "reserved" },
		{ WIRE_WAIT_PORT, 4, 1, "reserved" },
		{ WIRE_WAIT_PORT, 12, '.', "not a name" },
		{ WIRE_TRUNCATED, 0, 0, "unknown stream" },
		{ WIRE_TRUNCATED, 0, 3, "unknown stream" },
		{ WIRE_TRUNCATED, 2, 1, "reserved" },
		{ WIRE_TRUNCATED, 4, 1, "reserved" },
		{ WIRE_TRUNCATED, 15, 0x80, "cursor" },
		{ WIRE_TRUNCATED, 17, 0x13, "lost before byte 4096" },
		{ WIRE_PROCESS, 4, 0, "unknown state" },
		{ WIRE_PROCESS, 4, 1, "has an end" },
		{ WIRE_PROCESS, 4, 4, "unknown state" },
		{ WIRE_PROCESS, 6, 3, "unknown end" },
		{ WIRE_PROCESS, 8, 8, "unknown flags" },
		{ WIRE_PROCESS, 9, 4, "unknown flags" },
		{ WIRE_PROCESS, 13, 1, "out of range" },
		{ WIRE_PROCESS, 23, 0x80, "time" },
		{ WIRE_PROCESS, 31, 0x80, "time" },
		{ WIRE_PROCESS, 58, 1, "bytes cut of 1024" },
		{ WIRE_PROCESS, 64, 7, "7 bytes cut of 6" },
		{ WIRE_PROCESS, 86, 1, "cpu weight" },
		{ WIRE_PROCESS, 92, 200, "bad string" },
		{ WIRE_PROCESS, 172, '-', "not KEY=VALUE" },
		{ WIRE_PROCESS, 95, 0xff, "bad string" },
		{ WIRE_PROCESS, 99, 0xff, "bad string" },
		{ WIRE_PROCESS, 103, 0xff, "grace" },
		{ WIRE_PROCESS, 108, '.', "not a name" },
		{ WIRE_STDIN_ACK, 8, 2, "unknown flags" },
		{ WIRE_STDIN_ACK, 12, 1, "reserved" },
		{ WIRE_FILE, 0, 0, "unknown operation 0" },
		{ WIRE_FILE, 0, 11, "unknown operation 11" },
		{ WIRE_FILE, 0, WIRE_FILE_READ, "unknown flags 0x60" },
		{ WIRE_FILE, 2, 1, "reserved" },
		{ WIRE_FILE, 4, WIRE_FILE_FOLLOW, "unknown flags 0x1" },
		{ WIRE_FILE, 8, 1, "mode 01 is out of range" },
		{ WIRE_FILE, 12, 1, "reserved" },
		{ WIRE_FILE, 35, 0, "bad string" },
		{ WIRE_FILE, 44, '/', "not a name" },
		{ WIRE_FILE_ENTRY, 0, 0, "unknown kind" },
		{ WIRE_FILE_ENTRY, 0, 9, "unknown kind" },
		{ WIRE_FILE_ENTRY, 0, WIRE_KIND_SYMLINK, "without target" },
		{ WIRE_FILE_ENTRY, 0, WIRE_KIND_DIR, "link number 1" },
		{ WIRE_FILE_ENTRY, 2, 1, "reserved" },
		{ WIRE_FILE_ENTRY, 5, 0x10, "mode 010244" },
		{ WIRE_FILE_ENTRY, 22, 5, "link number" },
		{ WIRE_FILE_ENTRY, 39, 0x80, "size is too large" },
		{ WIRE_FILE_ENTRY, 47, 0x80, "size is too large" },
		{ WIRE_FILE_ENTRY, 84, '/', "not a name" },
		{ WIRE_FILE_DATA, 7, 0x80, "offset is too large" },
		{ WIRE_FILE_XATTR, 10, 1, "bad string" },
		{ WIRE_FILE_END, 7, 0x80, "size is too large" },
		{ WIRE_FILE_END, 8, 2, "unknown flags" },
		{ WIRE_FILE_END, 12, 1, "reserved" },
		{ WIRE_FILE_NOTE, 1, 0x10, "no errno" },
		{ WIRE_FILE_NOTE, 4, 1, "reserved" },
		{ WIRE_FILE_EVENT, 0, 0, "unknown event" },
		{ WIRE_FILE_EVENT, 0, 11, "unknown event" },
		{ WIRE_FILE_EVENT, 2, 2, "unknown flags" },
		{ WIRE_BOOT, 0, 4, "unknown flags" },
		{ WIRE_BOOT, 4, 0, "unknown root" },
		{ WIRE_BOOT, 4, 1, "nothing else, has a layer to read" },
		{ WIRE_BOOT, 4, 3, "unknown root" },
		{ WIRE_BOOT, 6, 65, "no signal 65" },
		{ WIRE_BOOT, 7, 1, "no signal 259" },
		{ WIRE_BOOT, 15, 0x80, "clock" },
		{ WIRE_BOOT, 17, 0x7f, "bad string" },
		{ WIRE_BOOT, 18, 0xff, "at most" },
		{ WIRE_BOOT, 20, 65, "at most" },
		{ WIRE_BOOT, 36, '.', "cwd is not absolute" },
		{ WIRE_BOOT, 47, ',', "a tag is not" },
		{ WIRE_BOOT, 63, '/', "a tag is not" },
		{ WIRE_BOOT, 82, '-', "not KEY=VALUE" },
		{ WIRE_BOOT, 85, 0x80, "mount: unknown flags" },
		{ WIRE_BOOT, 112, 'd', "not absolute" },
		{ WIRE_BOOT, 0, 1, "bytes left over" },
		{ WIRE_BOOT, 132, 1, "an MTU of 67036" },
		{ WIRE_BOOT, 134, 9, "more addresses" },
		{ WIRE_BOOT, 136, 17, "more addresses" },
		{ WIRE_BOOT, 138, 4, "more addresses" },
		{ WIRE_BOOT, 140, 7, "more addresses" },
		{ WIRE_BOOT, 140, 2, "bad string" },
		{ WIRE_BOOT, 146, '/', "no interface" },
		{ WIRE_BOOT, 151, 5, "address 0 is none" },
		{ WIRE_BOOT, 152, 33, "address 0 is none" },
		{ WIRE_BOOT, 157, 1, "address 0 is none" },
		{ WIRE_BOOT, 169, 6, "route 0 is none" },
		{ WIRE_BOOT, 170, 33, "route 0 is none" },
		{ WIRE_BOOT, 188, 31, "route 0 is none" },
		{ WIRE_BOOT, 206, 31, "server of names 0" },
		{ WIRE_BOOT, 227, ' ', "domain 0 is none" },
	};
	uint8_t bytes[FRAME_CAP], out[FRAME_CAP];

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const struct example *x = example_of(v[i].type);
		size_t len = make(x, bytes) - WIRE_HDR_LEN;
		struct wr wr = wr_init(out, FRAME_CAP);
		auto_free uint8_t *p = NULL;
		struct err e = { 0 };

		ck_assert_uint_lt(v[i].at, len);
		bytes[WIRE_HDR_LEN + v[i].at] = v[i].value;
		p = check_copy(bytes + WIRE_HDR_LEN, len);
		ck_assert_msg(x->again(p, len, &wr, &e) == -EBADMSG &&
				      strstr(e.msg, v[i].says) != NULL,
			      "%s at %u: '%s'", wire_type_name(v[i].type),
			      v[i].at, e.msg);
	}
}
END_TEST

static int parse_file(const struct msg_file *m, struct err *e)
{
	uint8_t buf[2 * WIRE_FILE_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	auto_free void *p = NULL;
	struct msg_file got;

	wire_file_put(&wr, m);
	ck_assert_int_ge(wr_end(&wr), 0);
	p = check_copy(buf + WIRE_HDR_LEN, wr.len - WIRE_HDR_LEN);
	return wire_file_parse(p, wr.len - WIRE_HDR_LEN, &got, e);
}

START_TEST(each_operation_on_files_has_its_own_fields)
{
	static char name[WIRE_NAME_MAX + 2], path[WIRE_PATH_MAX + 2];
	const struct {
		struct msg_file m;
		const char *says;
	} v[] = {
		{ { WIRE_FILE_READ, 0, 0, "", "/x", "" }, NULL },
		{ { WIRE_FILE_READ, 0, 0, "", "", "" }, "path is empty" },
		{ { WIRE_FILE_READ, 0, 0, "", "/x", "y" }, "one path only" },
		{ { WIRE_FILE_READ, 0, 0644, "", "/x", "" }, "mode 0644" },
		{ { WIRE_FILE_WRITE, WIRE_FILE_ATOMIC, 07777, "", "/x", "" },
		  NULL },
		{ { WIRE_FILE_WRITE, 0, 010000, "", "/x", "" }, "mode 010000" },
		{ { WIRE_FILE_RENAME, 0, 0, "", "/x", "/y" }, NULL },
		{ { WIRE_FILE_RENAME, 0, 0, "", "/x", "" }, "path is empty" },
		{ { WIRE_FILE_PUT, 0, 0, "", "/x", "" }, NULL },
		{ { WIRE_FILE_PUT, 0, 0, "", "/x", ".." }, "not a name" },
		{ { WIRE_FILE_PUT, 0, 0, "", "/x", name }, "not a name" },
		{ { WIRE_FILE_PUT, 0, 0, "", "/x", name + 1 }, NULL },
		{ { WIRE_FILE_STAT, 0, 0, "", path, "" }, "longer than 4095" },
		{ { WIRE_FILE_STAT, 0, 0, "", path + 1, "" }, NULL },
		{ { WIRE_FILE_STAT, 0, 0, name, "/x", "" }, "longer than 255" },
		{ { WIRE_FILE_STAT, 0, 0, name + 1, "/x", "" }, NULL },
	};
	struct err e = { 0 };

	memset(name, 'n', sizeof(name) - 1);
	memset(path, '/', sizeof(path) - 1);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		int r = parse_file(&v[i].m, &e);

		ck_assert_msg(v[i].says ? r == -EBADMSG &&
						  strstr(e.msg, v[i].says)
					: r == 0,
			      "%zu: %d '%s'", i, r, e.msg);
	}
}
END_TEST

static int parse_event(const struct msg_event *m, struct err *e)
{
	uint8_t buf[FRAME_CAP];
	struct wr wr = wr_init(buf, sizeof(buf));
	auto_free void *p = NULL;
	struct msg_event got;

	wire_event_put(&wr, m);
	ck_assert_int_ge(wr_end(&wr), 0);
	p = check_copy(buf + WIRE_HDR_LEN, wr.len - WIRE_HDR_LEN);
	return wire_event_parse(p, wr.len - WIRE_HDR_LEN, &got, e);
}

START_TEST(each_kind_of_event_has_its_own_fields)
{
	static const struct msg_event good[] = {
		{ .what = WIRE_EVENT_PROCESS_STARTED,
		  .flags = WIRE_PROC_MAIN | WIRE_PROC_PTY,
		  .value = 57,
		  .id = "a",
		  .text = "sh" },
		{ .what = WIRE_EVENT_PROCESS_EXITED,
		  .how = WIRE_HOW_EXITED,
		  .value = 255,
		  .id = "a",
		  .text = "" },
		{ .what = WIRE_EVENT_OOM, .id = "a", .text = "x" },
		{ .what = WIRE_EVENT_OOM, .id = "", .text = "x" },
		{ .what = WIRE_EVENT_BOOT_FAILED, .id = "", .text = "no" },
		{ .what = WIRE_EVENT_BUSY, .value = 3, .id = "", .text = "" },
	};
	struct err e = { 0 };
	struct msg_event m;

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ck_assert_msg(parse_event(&good[i], &e) == 0, "%s", e.msg);
	m = good[0];
	m.id = "";
	ck_assert_int_eq(parse_event(&m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EVENT: the id is not a name");
	m = good[0];
	m.value = 0;
	ck_assert_int_eq(parse_event(&m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EVENT: a start without a pid");
	m = good[1];
	m.id = "";
	ck_assert_int_eq(parse_event(&m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EVENT: the id is not a name");
	m = good[5];
	m.value = 4;
	ck_assert_int_eq(parse_event(&m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EVENT: bad BUSY");
	m = good[4];
	m.value = 1;
	ck_assert_int_eq(parse_event(&m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EVENT: this event has no exit status");
}
END_TEST

START_TEST(program_in_an_event_has_the_stated_length)
{
	char text[WIRE_EVENT_ARG_MAX + 2];
	struct msg_event m = { .what = WIRE_EVENT_PROCESS_STARTED,
			       .value = 1,
			       .id = "a",
			       .text = text };
	struct err e = { 0 };

	memset(text, 'x', sizeof(text));
	text[WIRE_EVENT_ARG_MAX] = '\0';
	ck_assert_int_eq(parse_event(&m, &e), 0);
	text[WIRE_EVENT_ARG_MAX] = 'x';
	text[WIRE_EVENT_ARG_MAX + 1] = '\0';
	ck_assert_int_eq(parse_event(&m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EVENT: program: longer than 255 bytes");
}
END_TEST

START_TEST(port_0_is_refused)
{
	uint8_t bytes[FRAME_CAP];
	size_t len = make(example_of(WIRE_WAIT_PORT), bytes) - WIRE_HDR_LEN;
	struct msg_wait_port m;
	auto_free uint8_t *p = NULL;
	struct err e = { 0 };

	bytes[WIRE_HDR_LEN] = 0;
	bytes[WIRE_HDR_LEN + 1] = 0;
	p = check_copy(bytes + WIRE_HDR_LEN, len);
	ck_assert_int_eq(wire_wait_port_parse(p, len, &m, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "WAIT_PORT: 0 is no port");
}
END_TEST

/* The example with one byte of its payload changed. */
static void want_refused(enum wire_type type, size_t at, uint8_t byte,
			 const char *says)
{
	uint8_t bytes[FRAME_CAP];
	size_t len = make(example_of(type), bytes) - WIRE_HDR_LEN;
	auto_free uint8_t *p = NULL;
	struct msg_connect connect;
	struct msg_port port;
	struct err e = { 0 };

	bytes[WIRE_HDR_LEN + at] = byte;
	p = check_copy(bytes + WIRE_HDR_LEN, len);
	if (type == WIRE_CONNECT)
		ck_assert_int_eq(wire_connect_parse(p, len, &connect, &e),
				 -EBADMSG);
	else
		ck_assert_int_eq(wire_port_parse(p, len, &port, &e), -EBADMSG);
	ck_assert_msg(strstr(e.msg, says) != NULL, "%s", e.msg);
}

START_TEST(ports_that_are_none_are_refused)
{
	/* 8080 is 0x1f90: without these two bytes it is 0. */
	uint8_t zero[8] = { 0 };
	struct msg_connect connect;
	auto_free uint8_t *p = check_copy(zero, sizeof(zero));
	struct err e = { 0 };

	ck_assert_int_eq(wire_connect_parse(p, sizeof(zero), &connect, &e),
			 -EBADMSG);
	ck_assert_str_eq(e.msg, "CONNECT: 0 is no port");
	want_refused(WIRE_CONNECT, 2, 1, "reserved");
	want_refused(WIRE_CONNECT, 7, 1, "reserved");
	want_refused(WIRE_PORT, 2, 5, "unknown family 5");
	/* IPv4 has four bytes; 57 is the pid, of which the name is. */
	want_refused(WIRE_PORT, 12, 1, "reserved");
	want_refused(WIRE_PORT, 4, 0, "not the process of a name");
	want_refused(WIRE_PORT, 7, 0x80, "not the process of a name");
}
END_TEST

START_TEST(a_port_may_have_no_process_and_no_long_name)
{
	struct msg_port m = { .port = 1, .family = WIRE_IPV6, .name = "" };
	char name[WIRE_COMM_MAX + 2] = "";
	uint8_t bytes[FRAME_CAP];
	struct wr wr = wr_init(bytes, sizeof(bytes));
	struct msg_port got;
	struct err e = { 0 };

	wire_port_put(&wr, &m);
	ck_assert_int_eq(wire_port_parse(bytes + WIRE_HDR_LEN,
					 wr.len - WIRE_HDR_LEN, &got, &e),
			 0);
	memset(name, 'x', WIRE_COMM_MAX + 1);
	m.name = name;
	m.pid = 1;
	wr = wr_init(bytes, sizeof(bytes));
	wire_port_put(&wr, &m);
	ck_assert_int_eq(wire_port_parse(bytes + WIRE_HDR_LEN,
					 wr.len - WIRE_HDR_LEN, &got, &e),
			 -EBADMSG);
	ck_assert_str_eq(e.msg, "PORT: name: longer than 63 bytes");
}
END_TEST

START_TEST(nothing_lost_is_no_truncation)
{
	uint8_t buf[FRAME_CAP];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct msg_truncated m = { .stream = 2, .cursor = 7 };
	struct err e = { 0 };

	wire_truncated_put(&wr, &m);
	ck_assert_int_eq(wire_truncated_parse(buf + WIRE_HDR_LEN,
					      wr.len - WIRE_HDR_LEN, &m, &e),
			 -EBADMSG);
	ck_assert_str_eq(e.msg, "TRUNCATED: 0 bytes lost before byte 7");
}
END_TEST

/* Sound but for one string, longer than it may be. */
static int parse_exec_with(const char *user, const char *cwd, struct err *e)
{
	struct msg_exec m = exec_example, got;
	auto_free uint8_t *buf = NULL;
	struct wr wr;
	int r;

	m.user = user;
	m.cwd = cwd;
	buf = malloc(wire_exec_size(&m));
	wr = wr_init(buf, wire_exec_size(&m));
	wire_exec_put(&wr, &m);
	r = wire_exec_parse(buf + WIRE_HDR_LEN, wr.len - WIRE_HDR_LEN, &got, e);
	if (r == 0)
		wire_exec_done(&got);
	return r;
}

START_TEST(strings_have_the_stated_lengths)
{
	char user[WIRE_USER_MAX + 2], cwd[WIRE_PATH_MAX + 2];
	struct err e = { 0 };

	memset(user, 'u', sizeof(user));
	memset(cwd, '/', sizeof(cwd));
	user[WIRE_USER_MAX] = '\0';
	cwd[WIRE_PATH_MAX] = '\0';
	ck_assert_int_eq(parse_exec_with(user, cwd, &e), 0);

	user[WIRE_USER_MAX] = 'u';
	user[WIRE_USER_MAX + 1] = '\0';
	ck_assert_int_eq(parse_exec_with(user, cwd, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EXEC: user: longer than 255 bytes");
	user[WIRE_USER_MAX] = '\0';
	cwd[WIRE_PATH_MAX] = '/';
	cwd[WIRE_PATH_MAX + 1] = '\0';
	ck_assert_int_eq(parse_exec_with(user, cwd, &e), -EBADMSG);
	ck_assert_str_eq(e.msg, "EXEC: cwd: longer than 4095 bytes");
}
END_TEST

/* The counts are believed only as far as the bytes that came with them. */
START_TEST(counts_without_strings_are_refused_before_memory_is_taken)
{
	uint8_t bytes[FRAME_CAP];
	size_t len = make(example_of(WIRE_EXEC), bytes) - WIRE_HDR_LEN;
	struct msg_exec m;
	auto_free uint8_t *p = NULL;
	struct err e = { 0 };

	bytes[WIRE_HDR_LEN + 21] = 0x7f;
	p = check_copy(bytes + WIRE_HDR_LEN, len);
	ck_assert_int_eq(wire_exec_parse(p, len, &m, &e), -EBADMSG);
	ck_assert_ptr_null(m.argv);
}
END_TEST

START_TEST(frame_too_large_for_the_protocol_is_not_composed)
{
	size_t big = WIRE_MSG_MAX;
	auto_free char *arg = malloc(big + 1);
	auto_free uint8_t *buf = malloc(big + FRAME_CAP);
	const char *argv[] = { arg, NULL };
	struct msg_exec m = exec_example;
	struct wr wr = wr_init(buf, big + FRAME_CAP);

	memset(arg, 'x', big);
	arg[big] = '\0';
	m.argc = 1;
	m.argv = argv;
	wire_exec_put(&wr, &m);

	ck_assert_int_eq(wr_end(&wr), -EMSGSIZE);
}
END_TEST

CHECK_MAIN("wire", document_examples_are_what_is_composed,
	   document_examples_are_parsed_whole, payload_cut_anywhere_is_refused,
	   payload_with_a_byte_too_many_is_refused,
	   one_wrong_field_is_refused_by_name,
	   each_operation_on_files_has_its_own_fields,
	   each_kind_of_event_has_its_own_fields,
	   program_in_an_event_has_the_stated_length, port_0_is_refused,
	   ports_that_are_none_are_refused,
	   a_port_may_have_no_process_and_no_long_name,
	   nothing_lost_is_no_truncation, strings_have_the_stated_lengths,
	   counts_without_strings_are_refused_before_memory_is_taken,
	   frame_too_large_for_the_protocol_is_not_composed)

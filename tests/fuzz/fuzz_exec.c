/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_exec.c - a hostile agent against a command (hutch_exec_*)
 *
 * Input: one byte of choices of the client, then what comes from the VM's
 * socket, "OK <n>" and all, until the end.  The promise is that an exit is
 * told only if every byte of output that it claims has been handed out, or,
 * to one who is attached, has been told to be missing.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/wire.h"
#include "host/lib/internal.h"
#include "tests/fuzz/fuzz.h"

/* One socket buffer full: written before anybody reads. */
#define INPUT_MAX 100000u

#define WRITES_STDIN 0x1u
#define SIGNALS      0x2u
#define ATTACHED     0x4u
#define FOLLOWS      0x8u
#define BACK         0x10u
#define DETACHES     0x20u

/* Where each stream is, as the client knows it. */
struct seen {
	uint64_t next[2];
	bool any[2];
};

static void check_cursor(const struct hutch_exec_event *ev, struct seen *s)
{
	int i = ev->stream - 1;
	uint64_t from = ev->cursor;

	bug_on(i != 0 && i != 1);
	if (ev->kind == HUTCH_EXEC_TRUNCATED) {
		bug_on(ev->lost == 0 || ev->lost > ev->cursor);
		from -= ev->lost;
	}
	bug_on(s->any[i] && from != s->next[i]);
	s->any[i] = true;
	s->next[i] = ev->cursor + ev->len;
}

static void check_event(const struct hutch_exec_event *ev, struct seen *s)
{
	switch (ev->kind) {
	case HUTCH_EXEC_STDOUT:
	case HUTCH_EXEC_STDERR:
		bug_on(ev->len == 0 || ev->len > WIRE_DATA_MAX);
		bug_on(ev->stream != 1 + (ev->kind == HUTCH_EXEC_STDERR));
		check_cursor(ev, s);
		break;
	case HUTCH_EXEC_TRUNCATED:
		check_cursor(ev, s);
		break;
	case HUTCH_EXEC_END:
		break;
	case HUTCH_EXEC_EXIT:
		bug_on(ev->how != HUTCH_EXEC_EXITED &&
		       ev->how != HUTCH_EXEC_SIGNALLED);
		bug_on(ev->value < 0 || ev->value > 255);
		break;
	case HUTCH_EXEC_ERROR:
		bug_on(!ev->msg || ev->code > 0);
		for (const char *p = ev->msg; *p; p++)
			bug_on((unsigned char)*p < ' ');
		break;
	case HUTCH_EXEC_STARTED:
		bug_on(!hutch_name_ok(ev->id));
		break;
	default:
		bug_on(1);
	}
}

/* What EXIT, the last 56 bytes that were taken in, says of the totals. */
static void check_exit(const uint8_t *data, size_t len, const struct seen *s)
{
	/* Found from behind: an input may have more than one. */
	for (size_t off = len; off-- > 0;) {
		struct wire_hdr h;
		struct msg_exit m;

		if (len - off < sizeof(h) + sizeof(struct wire_exit))
			continue;
		memcpy(&h, data + off, sizeof(h));
		if (le32_get(h.len) == sizeof(struct wire_exit) &&
		    le16_get(h.type) == WIRE_EXIT &&
		    wire_exit_parse(data + off + sizeof(h),
				    sizeof(struct wire_exit), &m, NULL) == 0 &&
		    (!s->any[0] || m.stdout_total == s->next[0]) &&
		    (!s->any[1] || m.stderr_total == s->next[1]))
			return;
	}
	bug_on(1);
}

static int run(struct hutch_exec *x, const uint8_t *data, size_t len,
	       bool attached)
{
	struct hutch_exec_event ev = { 0 };
	struct hutch_err e = { 0 };
	struct seen s = { .any = { !attached, !attached } };
	int r;

	while ((r = hutch_exec_next(x, &ev, &e)) > 0)
		check_event(&ev, &s);
	bug_on(r == 0); /* the end has come: nothing to wait for */
	bug_on(!*e.msg);
	if (r == -ENODATA && ev.kind == HUTCH_EXEC_EXIT)
		check_exit(data, len, &s);
	bug_on(r == -ENODATA && ev.kind != HUTCH_EXEC_EXIT &&
	       ev.kind != HUTCH_EXEC_ERROR && ev.kind != HUTCH_EXEC_END &&
	       ev.kind != HUTCH_EXEC_STARTED);
	return r;
}

static const char *const argv[] = { "x", NULL };

static struct hutch_exec *adopt(struct hutch *h, int fd, uint8_t choice)
{
	struct hutch_attach_opts a = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x = NULL;

	if (choice & ATTACHED) {
		a.flags = (choice & WRITES_STDIN ? HUTCH_ATTACH_STDIN : 0) |
			  (choice & FOLLOWS ? HUTCH_ATTACH_FOLLOW : 0) |
			  (choice & BACK ? HUTCH_ATTACH_BACK : 0);
		bug_on(exec_adopt_attach(h, fd, &a, &x, NULL) < 0);
		return x;
	}
	o.argv = argv;
	o.flags = (choice & WRITES_STDIN ? HUTCH_EXEC_STDIN : 0) |
		  (choice & DETACHES ? HUTCH_EXEC_DETACH : 0);
	bug_on(exec_adopt(h, fd, &o, &x, NULL) < 0);
	return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hutch h = { .run_fd = -1, .state_fd = -1 };
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	int fd[2], r;

	if (len < 1)
		return 0;
	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0);
	x = adopt(&h, fd[0], data[0]);
	if ((data[0] & WRITES_STDIN) &&
	    (data[0] & (ATTACHED | DETACHES)) != DETACHES)
		bug_on(hutch_exec_write(x, argv, sizeof(argv)) < 0);
	if (data[0] & SIGNALS)
		bug_on(hutch_exec_signal(x, 15, 1) < 0);
	bug_on(io_write_full(fd[1], data + 1, MIN(len - 1, INPUT_MAX)) < 0);
	(void)close(fd[1]);
	r = run(x, data + 1, len - 1, data[0] & ATTACHED);
	/* What is over stays over. */
	bug_on(hutch_exec_next(x, &ev, NULL) != r);
	hutch_exec_close(x);
	return 0;
}

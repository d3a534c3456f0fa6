/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_wire.c - the frame reader and every parser of the protocol
 *
 * Input: one byte, who sends; one byte, in pieces of how many bytes it comes;
 * the stream.  What is accepted composes to the same bytes; what is refused
 * has a sentence.
 */
#include <errno.h>
#include <string.h>

#include "common/wire_file.h"
#include "common/wire_port.h"
#include "common/wire_proc.h"
#include "tests/fuzz/fuzz.h"

/* A frame that was accepted, and the same composed again. */
static void same(const struct wire_frame *f, struct wr *wr)
{
	bug_on(wr_end(wr) != (ptrdiff_t)(WIRE_HDR_LEN + f->len));
	bug_on(f->len && memcmp(wr->buf + WIRE_HDR_LEN, f->data, f->len) != 0);
}

#define AGAIN(kind)                                              \
	do {                                                     \
		struct msg_##kind m;                             \
                                                                 \
		r = wire_##kind##_parse(f->data, f->len, &m, e); \
		if (r == 0) {                                    \
			wire_##kind##_put(wr, &m);               \
			same(f, wr);                             \
		}                                                \
	} while (0)

static int again_output(const struct wire_frame *f, struct wr *wr,
			struct err *e)
{
	struct msg_output m;
	int r = wire_output_parse(f->data, f->len, &m, e);

	if (r == 0) {
		wire_output_put(wr, f->type, &m);
		same(f, wr);
	}
	return r;
}

static int again_exec(const struct wire_frame *f, struct wr *wr, struct err *e)
{
	struct msg_exec m;
	int r = wire_exec_parse(f->data, f->len, &m, e);

	if (r == 0) {
		bug_on(wire_exec_size(&m) != WIRE_HDR_LEN + f->len);
		wire_exec_put(wr, &m);
		same(f, wr);
		wire_exec_done(&m);
	}
	return r;
}

static int again_boot(const struct wire_frame *f, struct wr *wr, struct err *e)
{
	struct msg_boot m;
	int r = wire_boot_parse(f->data, f->len, &m, e);

	if (r == 0) {
		bug_on(wire_boot_size(&m) != WIRE_HDR_LEN + f->len);
		wire_boot_put(wr, &m);
		same(f, wr);
		wire_boot_done(&m);
	}
	return r;
}

static int again_process(const struct wire_frame *f, struct wr *wr,
			 struct err *e)
{
	struct msg_process m;
	int r = wire_process_parse(f->data, f->len, &m, e);

	if (r == 0) {
		bug_on(wire_process_size(&m) != WIRE_HDR_LEN + f->len);
		wire_process_put(wr, &m);
		same(f, wr);
		wire_process_done(&m);
	}
	return r;
}

/* Of trees of files. */
static int again_files(const struct wire_frame *f, struct wr *wr, struct err *e)
{
	int r = 0;

	switch (f->type) {
	case WIRE_FILE:
		AGAIN(file);
		break;
	case WIRE_FILE_ENTRY:
		AGAIN(entry);
		break;
	case WIRE_FILE_DATA:
		AGAIN(file_data);
		break;
	case WIRE_FILE_XATTR:
		AGAIN(xattr);
		break;
	case WIRE_FILE_END:
		AGAIN(file_end);
		break;
	case WIRE_FILE_NOTE:
		AGAIN(note);
		break;
	case WIRE_FILE_EVENT:
		AGAIN(watch);
		break;
	default:
		break;
	}
	return r;
}

/* From the agent. */
static int again_agent(const struct wire_frame *f, struct wr *wr, struct err *e)
{
	int r = 0;

	switch (f->type) {
	case WIRE_STARTED:
		AGAIN(started);
		break;
	case WIRE_STDOUT:
	case WIRE_STDERR:
		r = again_output(f, wr, e);
		break;
	case WIRE_EXIT:
		AGAIN(exit);
		break;
	case WIRE_ERROR:
		AGAIN(error);
		break;
	case WIRE_EVENT:
		AGAIN(event);
		break;
	case WIRE_STAT_ANSWER:
		AGAIN(stat);
		break;
	case WIRE_STDIN_ACK:
		AGAIN(stdin_ack);
		break;
	case WIRE_TRUNCATED:
		AGAIN(truncated);
		break;
	case WIRE_PROCESS:
		r = again_process(f, wr, e);
		break;
	default:
		r = again_files(f, wr, e);
		break;
	}
	return r;
}

static int again_client(const struct wire_frame *f, struct wr *wr,
			struct err *e)
{
	int r = 0;

	switch (f->type) {
	case WIRE_HELLO:
		AGAIN(hello);
		break;
	case WIRE_EXEC:
		r = again_exec(f, wr, e);
		break;
	case WIRE_SHUTDOWN:
		AGAIN(shutdown);
		break;
	case WIRE_CLOCK:
		AGAIN(clock);
		break;
	case WIRE_SIGNAL:
		AGAIN(signal);
		break;
	case WIRE_RESIZE:
		AGAIN(resize);
		break;
	case WIRE_ATTACH:
		AGAIN(attach);
		break;
	case WIRE_LIST:
		AGAIN(list);
		break;
	case WIRE_KILL:
		AGAIN(kill);
		break;
	case WIRE_DROP:
		AGAIN(drop);
		break;
	case WIRE_WAIT_PORT:
		AGAIN(wait_port);
		break;
	case WIRE_CONNECT:
		AGAIN(connect);
		break;
	case WIRE_PORT:
		AGAIN(port);
		break;
	case WIRE_BOOT:
		r = again_boot(f, wr, e);
		break;
	default:
		r = again_agent(f, wr, e);
		break;
	}
	return r;
}

static int again(const struct wire_frame *f, uint8_t *buf)
{
	struct wr wr = wr_init(buf, WIRE_HDR_LEN + f->len);
	struct err e = { 0 };
	int r = again_client(f, &wr, &e);

	bug_on(r < 0 && (!*e.msg || e.code != r));
	return r;
}

/* Every whole frame that is there. Return: -1 if the stream is broken */
static int drain(struct wire_reader *rd)
{
	struct wire_frame f;
	struct err e = { 0 };
	int r;

	while ((r = wire_reader_next(rd, &f, &e)) > 0) {
		/* A copy of exact size, so that overreads are seen. */
		auto_free uint8_t *p = malloc(f.len ? f.len : 1);
		auto_free uint8_t *buf = malloc(WIRE_HDR_LEN + f.len);

		bug_on(!p || !buf);
		memcpy(p, f.data, f.len);
		f.data = p;
		(void)again(&f, buf);
	}
	bug_on(r < 0 && !*e.msg);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct wire_reader rd;
	size_t piece, at = 2;

	if (len < 2)
		return 0;
	wire_reader_init(&rd, (enum wire_side)(data[0] % 3));
	piece = data[1] ? data[1] : len;
	while (at < len) {
		size_t n = MIN(piece, len - at);
		ssize_t took = wire_reader_push(&rd, data + at, n);

		bug_on(took < 0 || (size_t)took > n);
		at += (size_t)took;
		if (drain(&rd) < 0)
			break;
		/* All whole frames are out, so there must be room. */
		bug_on(took == 0);
	}
	wire_reader_done(&rd);
	return 0;
}

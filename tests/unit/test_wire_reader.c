/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_wire_reader.c - common/wire_reader.c */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/wire.h"
#include "tests/lib/check_main.h"

#define BIG (WIRE_MSG_MAX + WIRE_HDR_LEN)

static size_t put_head(uint8_t *buf, uint32_t len, uint16_t type,
		       uint16_t reserved)
{
	struct wr wr = wr_init(buf, WIRE_HDR_LEN);

	wr_le32(&wr, len);
	wr_le16(&wr, type);
	wr_le16(&wr, reserved);
	return wr.len;
}

START_TEST(frames_come_out_whole_however_they_are_cut)
{
	for (size_t piece = 1; piece < 40; piece++) {
		uint8_t bytes[256];
		struct wr wr = wr_init(bytes, sizeof(bytes));
		struct wire_reader r;
		struct wire_frame f;
		struct err e = { 0 };
		int n = 0, ret;

		wire_hello_put(&wr, &(struct msg_hello){ .version = 1 });
		wire_empty_put(&wr, WIRE_STAT);
		wire_stdin_put(&wr, "hello", 5);
		wire_reader_init(&r, WIRE_FROM_CLIENT);
		for (size_t at = 0; at < wr.len; at += piece) {
			size_t len = MIN(piece, wr.len - at);
			auto_free void *p = check_copy(bytes + at, len);

			ck_assert_int_eq(wire_reader_push(&r, p, len), len);
			while ((ret = wire_reader_next(&r, &f, &e)) > 0)
				n++;
			ck_assert_int_eq(ret, 0);
		}
		ck_assert_int_eq(n, 3);
		ck_assert_int_eq(f.type, WIRE_STDIN);
		ck_assert_uint_eq(f.len, 5);
		ck_assert(!wire_reader_partial(&r));
		wire_reader_done(&r);
	}
}
END_TEST

/* The header alone is enough: no payload is waited for. */
START_TEST(header_that_cannot_be_is_refused_at_once)
{
	static const struct {
		enum wire_side from;
		uint32_t len;
		uint16_t type;
		uint16_t reserved;
		const char *says;
	} v[] = {
		{ WIRE_FROM_CLIENT, 0, 0, 0, "unknown type 0" },
		{ WIRE_FROM_CLIENT, 0, 0x99, 0, "unknown type 0x99" },
		{ WIRE_FROM_CLIENT, 32, WIRE_EXIT, 0, "wrong side" },
		{ WIRE_FROM_CLIENT, 64, WIRE_BOOT, 0, "wrong side" },
		{ WIRE_FROM_AGENT, 64, WIRE_EXEC, 0, "wrong side" },
		{ WIRE_FROM_AGENT, 1, WIRE_STDIN, 0, "wrong side" },
		{ WIRE_FROM_FILE, 16, WIRE_HELLO, 0, "wrong side" },
		{ WIRE_FROM_CLIENT, 0, WIRE_STAT, 1, "reserved" },
		{ WIRE_FROM_CLIENT, 1, WIRE_STAT, 0, "not 0 to 0" },
		{ WIRE_FROM_CLIENT, 15, WIRE_HELLO, 0, "not 16 to 16" },
		{ WIRE_FROM_CLIENT, 17, WIRE_HELLO, 0, "not 16 to 16" },
		{ WIRE_FROM_CLIENT, 0, WIRE_STDIN, 0, "not 1 to 65536" },
		{ WIRE_FROM_CLIENT, 65537, WIRE_STDIN, 0, "not 1 to 65536" },
		{ WIRE_FROM_CLIENT, 55, WIRE_EXEC, 0, "not 56 to" },
		{ WIRE_FROM_CLIENT, WIRE_MSG_MAX + 1, WIRE_EXEC, 0,
		  "not 56 to 2097152" },
		{ WIRE_FROM_CLIENT, UINT32_MAX, WIRE_EXEC, 0, "not 56 to" },
		{ WIRE_FROM_AGENT, 16, WIRE_STDOUT, 0, "not 17 to 65552" },
		{ WIRE_FROM_AGENT, 65553, WIRE_STDERR, 0, "not 17 to 65552" },
		{ WIRE_FROM_AGENT, 65537, WIRE_PROCESS, 0, "not 120 to 65536" },
		{ WIRE_FROM_AGENT, 30, WIRE_ATTACH, 0, "wrong side" },
		{ WIRE_FROM_CLIENT, 24, WIRE_TRUNCATED, 0, "wrong side" },
		{ WIRE_FROM_CLIENT, 29, WIRE_ATTACH, 0, "not 30 to 92" },
		{ WIRE_FROM_CLIENT, 93, WIRE_ATTACH, 0, "not 30 to 92" },
		{ WIRE_FROM_CLIENT, 77, WIRE_LIST, 0, "not 13 to 76" },
		{ WIRE_FROM_CLIENT, 85, WIRE_KILL, 0, "not 22 to 84" },
		{ WIRE_FROM_CLIENT, 5, WIRE_DROP, 0, "not 6 to 68" },
		{ WIRE_FROM_CLIENT, 12, WIRE_WAIT_PORT, 0, "not 13 to 76" },
		{ WIRE_FROM_AGENT, 1037, WIRE_ERROR, 0, "not 13 to 1036" },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		uint8_t head[WIRE_HDR_LEN];
		struct wire_reader r;
		struct wire_frame f;
		struct err e = { 0 };

		(void)put_head(head, v[i].len, v[i].type, v[i].reserved);
		wire_reader_init(&r, v[i].from);
		ck_assert_int_eq(wire_reader_push(&r, head, sizeof(head)),
				 sizeof(head));
		ck_assert_int_eq(wire_reader_next(&r, &f, &e), -EBADMSG);
		ck_assert_msg(strstr(e.msg, v[i].says) != NULL, "%s", e.msg);
		/* For ever after: what follows cannot be trusted. */
		ck_assert_int_eq(wire_reader_next(&r, &f, &e), -EBADMSG);
		wire_reader_done(&r);
	}
}
END_TEST

START_TEST(memory_follows_the_bytes_and_not_the_promise)
{
	uint8_t head[WIRE_HDR_LEN];
	struct wire_reader r;
	struct wire_frame f;
	struct err e = { 0 };

	(void)put_head(head, WIRE_MSG_MAX, WIRE_EXEC, 0);
	wire_reader_init(&r, WIRE_FROM_CLIENT);
	ck_assert_int_eq(wire_reader_push(&r, head, sizeof(head)),
			 sizeof(head));
	ck_assert_int_eq(wire_reader_next(&r, &f, &e), 0);
	ck_assert(wire_reader_partial(&r));
	ck_assert_uint_le(r.size, 4096);
	wire_reader_done(&r);
}
END_TEST

START_TEST(largest_frame_fits_and_no_more_is_held)
{
	auto_free uint8_t *p = calloc(1, BIG + WIRE_MSG_MAX);
	struct wire_reader r;
	struct wire_frame f;
	struct err e = { 0 };
	ssize_t took;

	ck_assert_ptr_nonnull(p);
	(void)put_head(p, WIRE_MSG_MAX, WIRE_EXEC, 0);
	wire_reader_init(&r, WIRE_FROM_CLIENT);
	took = wire_reader_push(&r, p, BIG + WIRE_MSG_MAX);
	ck_assert_int_eq(took, BIG);
	ck_assert_uint_eq(r.size, BIG);
	ck_assert_int_eq(wire_reader_next(&r, &f, &e), 1);
	ck_assert_uint_eq(f.len, WIRE_MSG_MAX);
	/* Handed out in place, not copied. */
	ck_assert_ptr_eq(f.data, r.buf + WIRE_HDR_LEN);
	wire_reader_done(&r);
	wire_reader_done(&r);
}
END_TEST

START_TEST(idle_stream_holds_no_memory)
{
	uint8_t bytes[64];
	struct wr wr = wr_init(bytes, sizeof(bytes));
	struct wire_reader r;
	struct wire_frame f;
	struct err e = { 0 };
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, fd),
			 0);
	wire_empty_put(&wr, WIRE_STAT);
	wire_reader_init(&r, WIRE_FROM_CLIENT);
	ck_assert_int_eq(wire_reader_fill(&r, fd[0]), -EAGAIN);
	ck_assert_ptr_null(r.buf);
	ck_assert_int_eq(io_write_full(fd[1], bytes, wr.len), 0);
	ck_assert_int_eq(wire_reader_fill(&r, fd[0]), wr.len);
	ck_assert_int_eq(wire_reader_next(&r, &f, &e), 1);
	ck_assert_int_eq(wire_reader_next(&r, &f, &e), 0);
	ck_assert_int_eq(wire_reader_fill(&r, fd[0]), -EAGAIN);
	ck_assert_ptr_null(r.buf);

	/* But the beginning of a frame is kept. */
	ck_assert_int_eq(io_write_full(fd[1], bytes, 3), 0);
	ck_assert_int_eq(wire_reader_fill(&r, fd[0]), 3);
	ck_assert_int_eq(wire_reader_fill(&r, fd[0]), -EAGAIN);
	ck_assert(wire_reader_partial(&r));
	ck_assert_int_eq(close(fd[1]), 0);
	ck_assert_int_eq(wire_reader_fill(&r, fd[0]), 0);
	ck_assert(wire_reader_partial(&r));
	ck_assert_int_eq(close(fd[0]), 0);
	wire_reader_done(&r);
}
END_TEST

CHECK_MAIN("wire_reader", frames_come_out_whole_however_they_are_cut,
	   header_that_cannot_be_is_refused_at_once,
	   memory_follows_the_bytes_and_not_the_promise,
	   largest_frame_fits_and_no_more_is_held, idle_stream_holds_no_memory)

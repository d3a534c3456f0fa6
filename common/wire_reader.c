/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_reader.c - cut a byte stream into frames; see wire.h */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "common/wire_file.h"
#include "common/wire_port.h"
#include "common/wire_proc.h"

/* Grown to at least this, and held while anything is unread. */
#define READER_MIN 4096u

/* A large data frame and its header arrive in one read. */
#define READER_STEP (WIRE_DATA_MAX + 4096u)

#define FROM(side) (1u << (side))

/* The client's side, the agent's side, the boot file's side. */
#define C FROM(WIRE_FROM_CLIENT)
#define A FROM(WIRE_FROM_AGENT)
#define F FROM(WIRE_FROM_FILE)

/**
 * struct type_rule - Who may send a type and how long its payload may be
 *
 * Known from the header alone, so that nobody makes us buffer 2 MiB of what
 * can only be 8 bytes.
 */
struct type_rule {
	uint16_t type;
	uint16_t from;
	uint32_t min;
	uint32_t max;
	const char *name;
};

/* Behind @fixed bytes an id of 1 to WIRE_ID_MAX bytes: the payload's length. */
#define ID_MIN(fixed) ((fixed) + 6u)
#define ID_MAX(fixed) ((fixed) + 5u + WIRE_ID_MAX)

static const struct type_rule rules[] = {
	{ WIRE_HELLO, C | A, 16, 16, "HELLO" },
	{ WIRE_EXEC, C, sizeof(struct wire_exec), WIRE_MSG_MAX, "EXEC" },
	{ WIRE_EVENTS, C, 0, 0, "EVENTS" },
	{ WIRE_SHUTDOWN, C, 8, 8, "SHUTDOWN" },
	{ WIRE_CLOCK, C, 8, 8, "CLOCK" },
	{ WIRE_STAT, C, 0, 0, "STAT" },
	{ WIRE_ATTACH, C, ID_MIN(24), ID_MAX(24), "ATTACH" },
	{ WIRE_LIST, C, 13, ID_MAX(8), "LIST" },
	{ WIRE_KILL, C, ID_MIN(16), ID_MAX(16), "KILL" },
	{ WIRE_DROP, C, ID_MIN(0), ID_MAX(0), "DROP" },
	{ WIRE_WAIT_PORT, C, 13, ID_MAX(8), "WAIT_PORT" },
	{ WIRE_CONNECT, C, 8, 8, "CONNECT" },
	{ WIRE_PORTS, C, 0, 0, "PORTS" },
	{ WIRE_STDIN, C, 1, WIRE_DATA_MAX, "STDIN" },
	{ WIRE_STDIN_CLOSE, C, 0, 0, "STDIN_CLOSE" },
	{ WIRE_SIGNAL, C, 8, 8, "SIGNAL" },
	{ WIRE_RESIZE, C, 4, 4, "RESIZE" },
	{ WIRE_CLOSE_STDOUT, C, 0, 0, "CLOSE_STDOUT" },
	{ WIRE_CLOSE_STDERR, C, 0, 0, "CLOSE_STDERR" },
	{ WIRE_FILE, C, 32, 31 + WIRE_USER_MAX + 2 * WIRE_PATH_MAX, "FILE" },
	{ WIRE_FILE_ENTRY, C | A, 90, 90 + WIRE_NAME_MAX + WIRE_PATH_MAX,
	  "FILE_ENTRY" },
	{ WIRE_FILE_DATA, C | A, 9, 8 + WIRE_DATA_MAX, "FILE_DATA" },
	{ WIRE_FILE_XATTR, C | A, 6, 5 + WIRE_NAME_MAX + WIRE_XATTR_MAX,
	  "FILE_XATTR" },
	{ WIRE_FILE_END, C | A, 16, 16, "FILE_END" },
	{ WIRE_FILE_UP, C | A, 0, 0, "FILE_UP" },
	{ WIRE_FILE_COMMIT, C, 0, 0, "FILE_COMMIT" },
	{ WIRE_STARTED, A, ID_MIN(16), ID_MAX(16), "STARTED" },
	{ WIRE_STDOUT, A, 17, 16 + WIRE_DATA_MAX, "STDOUT" },
	{ WIRE_STDERR, A, 17, 16 + WIRE_DATA_MAX, "STDERR" },
	{ WIRE_EXIT, A, 56, 56, "EXIT" },
	{ WIRE_ERROR, A, 13, 13 + WIRE_SENTENCE_MAX, "ERROR" },
	{ WIRE_EVENT, A, 34, 34 + WIRE_ID_MAX + WIRE_SENTENCE_MAX, "EVENT" },
	{ WIRE_DONE, A, 0, 0, "DONE" },
	{ WIRE_STAT_ANSWER, A, 48, 48, "STAT_ANSWER" },
	{ WIRE_STDIN_ACK, A, 16, 16, "STDIN_ACK" },
	{ WIRE_TRUNCATED, A, 24, 24, "TRUNCATED" },
	{ WIRE_PROCESS, A, ID_MIN(104) + 10, WIRE_PROCESS_MAX, "PROCESS" },
	{ WIRE_FILE_NOTE, A, 13, 13 + WIRE_SENTENCE_MAX, "FILE_NOTE" },
	{ WIRE_FILE_EVENT, A, 13, 13 + WIRE_PATH_MAX, "FILE_EVENT" },
	{ WIRE_PORT, A, 29, 29 + WIRE_COMM_MAX, "PORT" },
	{ WIRE_BOOT, F, sizeof(struct wire_boot), WIRE_MSG_MAX, "BOOT" },
};

#undef ID_MIN
#undef ID_MAX
#undef C
#undef A
#undef F

static const struct type_rule *rule_of(unsigned int type)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].type == type)
			return &rules[i];
	return NULL;
}

const char *wire_type_name(unsigned int type)
{
	const struct type_rule *rule = rule_of(type);

	return rule ? rule->name : "?";
}

void wire_reader_init(struct wire_reader *r, enum wire_side from)
{
	*r = (struct wire_reader){ .from = from };
}

void wire_reader_done(struct wire_reader *r)
{
	free(r->buf);
	wire_reader_init(r, r->from);
}

bool wire_reader_partial(const struct wire_reader *r)
{
	return r->len > r->used;
}

size_t wire_reader_rest(const struct wire_reader *r, const void **ret)
{
	if (!wire_reader_partial(r))
		return 0;
	*ret = r->buf + r->head + r->used;
	return r->len - r->used;
}

/* Forget the frame that was handed out. */
static void drop_used(struct wire_reader *r)
{
	r->head += r->used;
	r->len -= r->used;
	r->used = 0;
	if (r->len == 0)
		r->head = 0;
}

/* Length of the frame at the head, with its header; 0 if not yet known. */
static size_t frame_size(const struct wire_reader *r)
{
	struct rd rd;

	if (r->len < WIRE_HDR_LEN)
		return 0; /* the buffer may be NULL */
	rd = rd_init(r->buf + r->head, r->len);
	return WIRE_HDR_LEN + rd_le32(&rd);
}

/*
 * Make room for bytes behind what is held: move it to the front, then double,
 * up to the frame under way or a step of reading ahead, whichever is more.
 */
static int make_room(struct wire_reader *r)
{
	size_t most = MAX(frame_size(r), READER_STEP), size;
	uint8_t *buf;

	if (r->head) {
		memmove(r->buf, r->buf + r->head, r->len);
		r->head = 0;
	}
	if (r->len < r->size)
		return 0;
	if (r->size >= most)
		return -ENOBUFS;
	size = MIN(MAX(r->size * 2, READER_MIN), most);
	/* Past the first step the stream is a busy one: go all the way. */
	if (r->size >= READER_MIN)
		size = MAX(size, READER_STEP);
	buf = realloc(r->buf, size);
	if (!buf)
		return -ENOMEM;
	r->buf = buf;
	r->size = size;
	return 0;
}

ssize_t wire_reader_fill(struct wire_reader *r, int fd)
{
	ssize_t n;
	int ret;

	drop_used(r);
	ret = make_room(r);
	if (ret < 0)
		return ret;
	do
		n = read(fd, r->buf + r->len, r->size - r->len);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		ret = -errno;
		/* Idle connections hold no memory: there may be thousands. */
		if (r->len == 0)
			wire_reader_done(r);
		return ret;
	}
	r->len += (size_t)n;
	return n;
}

ssize_t wire_reader_push(struct wire_reader *r, const void *src, size_t len)
{
	size_t took = 0;

	drop_used(r);
	while (took < len) {
		int ret = make_room(r);
		size_t n;

		if (ret == -ENOBUFS)
			break;
		if (ret < 0)
			return ret;
		n = MIN(len - took, r->size - r->len);
		memcpy(r->buf + r->len, (const uint8_t *)src + took, n);
		r->len += n;
		took += n;
	}
	return (ssize_t)took;
}

static int check_header(const struct wire_reader *r, uint32_t len,
			uint16_t type, uint16_t reserved, struct err *e)
{
	const struct type_rule *rule = rule_of(type);

	if (!rule)
		return err_set(e, -EBADMSG, "frame of unknown type %#x", type);
	if (!(rule->from & FROM(r->from)))
		return err_set(e, -EBADMSG,
			       "frame of type %s from the wrong side",
			       rule->name);
	if (reserved)
		return err_set(e, -EBADMSG,
			       "%s: a reserved field of the header is not 0",
			       rule->name);
	if (len < rule->min || len > rule->max)
		return err_set(e, -EBADMSG,
			       "%s: payload of %u bytes, not %u to %u",
			       rule->name, len, rule->min, rule->max);
	return 0;
}

int wire_reader_next(struct wire_reader *r, struct wire_frame *ret,
		     struct err *e)
{
	struct rd rd;
	uint32_t len;
	uint16_t type, reserved;
	int ret_code;

	drop_used(r);
	if (r->len < WIRE_HDR_LEN)
		return 0;
	rd = rd_init(r->buf + r->head, r->len);
	len = rd_le32(&rd);
	type = rd_le16(&rd);
	reserved = rd_le16(&rd);
	ret_code = check_header(r, len, type, reserved, e);
	if (ret_code < 0)
		return ret_code;
	if (rd.left < len)
		return 0;
	*ret = (struct wire_frame){ .type = (enum wire_type)type,
				    .len = len,
				    .data = rd.p };
	r->used = WIRE_HDR_LEN + len;
	return 1;
}

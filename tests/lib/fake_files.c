/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_files.c - answers to FILE as only a hostile agent gives them
 *
 * The path /evil/NAME asks for the lie NAME, /evil/NAME/. as well.  Each is a
 * folder that is sent as it should be, save for one thing; "truth" is without
 * that, "link" and "file" are no folder.  /evil/chatter takes a tree and talks
 * until it has come.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/lib/fake_vmm.h"

#define EVIL "/evil/"

#define STEPS_MAX 8

/**
 * struct step - A frame
 * @name:	Of an entry, of an attribute
 * @text:	Target of a link, bytes
 * @at:		Offset, size, or number of a link; how many notes
 */
struct step {
	enum wire_type type;
	enum wire_file_kind kind;
	const char *name;
	const char *text;
	uint64_t at;
};

struct lie {
	const char *name;
	struct step step[STEPS_MAX];
};

#define ROOT                                   \
	{                                      \
		WIRE_FILE_ENTRY, WIRE_KIND_DIR \
	}
#define UP                   \
	{                    \
		WIRE_FILE_UP \
	}
#define FILE_NAMED(n)                                \
	{                                            \
		WIRE_FILE_ENTRY, WIRE_KIND_FILE, (n) \
	}
#define BYTES(t, o)                               \
	{                                         \
		WIRE_FILE_DATA, 0, NULL, (t), (o) \
	}
#define END_AT(n)                                 \
	{                                         \
		WIRE_FILE_END, 0, NULL, NULL, (n) \
	}
#define LINK_TO(n, t)                                        \
	{                                                    \
		WIRE_FILE_ENTRY, WIRE_KIND_SYMLINK, (n), (t) \
	}

static const struct lie lies[] = {
	{ "truth", { ROOT, FILE_NAMED("f"), BYTES("abc", 0), END_AT(3), UP } },
	{ "link", { LINK_TO("", "home") } },
	{ "file", { FILE_NAMED(""), END_AT(0) } },
	{ "notes",
	  { { WIRE_FILE_NOTE, 0, NULL, "\033sad", 1500 },
	    ROOT,
	    FILE_NAMED("f"),
	    BYTES("abc", 0),
	    END_AT(3),
	    UP } },
	{ "nothing", { { 0 } } },
	{ "half", { ROOT, FILE_NAMED("f"), BYTES("abc", 0), END_AT(3) } },
	{ "half-file", { ROOT, FILE_NAMED("f"), BYTES("abc", 0) } },
	{ "slash", { ROOT, FILE_NAMED("../f"), END_AT(0), UP } },
	{ "dotdot",
	  { ROOT, { WIRE_FILE_ENTRY, WIRE_KIND_DIR, ".." }, UP, UP } },
	{ "dot", { ROOT, FILE_NAMED("."), END_AT(0), UP } },
	{ "nameless", { ROOT, FILE_NAMED(""), END_AT(0), UP } },
	{ "through-link",
	  { ROOT,
	    LINK_TO("l", "/tmp"),
	    { WIRE_FILE_ENTRY, WIRE_KIND_DIR, "l" },
	    FILE_NAMED("hutch-evil"),
	    END_AT(0),
	    UP,
	    UP } },
	{ "link-to-nothing",
	  { ROOT, { WIRE_FILE_ENTRY, WIRE_KIND_LINK, "f", NULL, 1 }, UP } },
	{ "link-out-of-turn",
	  { ROOT,
	    { WIRE_FILE_ENTRY, WIRE_KIND_FILE, "f", NULL, 2 },
	    END_AT(0),
	    UP } },
	{ "root-is-link",
	  { { WIRE_FILE_ENTRY, WIRE_KIND_LINK, "", NULL, 1 } } },
	{ "twice",
	  { ROOT, FILE_NAMED("f"), BYTES("abc", 0), BYTES("abc", 2), END_AT(5),
	    UP } },
	{ "too-short",
	  { ROOT, FILE_NAMED("f"), BYTES("abc", 0), END_AT(2), UP } },
	{ "two-roots", { ROOT, UP, ROOT, UP } },
	{ "up-and-up", { ROOT, UP, UP } },
	{ "entry-in-file",
	  { ROOT, FILE_NAMED("f"), FILE_NAMED("g"), END_AT(0), UP } },
	{ "stray-bytes", { ROOT, BYTES("abc", 0), UP } },
	{ "stray-end", { ROOT, END_AT(0), UP } },
	{ "attribute", { ROOT, { WIRE_FILE_XATTR, 0, "trusted.x", "1" }, UP } },
	{ "socket", { ROOT, { WIRE_FILE_ENTRY, WIRE_KIND_SOCKET, "s" }, UP } },
	{ "output", { ROOT, { WIRE_TRUNCATED }, UP } },
	{ "refusal", { { WIRE_ERROR, 0, NULL, "\033no", 5000 } } },
	{ "huge", { ROOT, FILE_NAMED("f"), END_AT(1ull << 62), UP } },
};

static void put_step(struct wr *wr, const struct step *s)
{
	const char *text = s->text ? s->text : "";
	const struct msg_entry entry = {
		.kind = s->kind,
		.mode = s->kind == WIRE_KIND_DIR ? 0755 : 06644,
		.link = s->type == WIRE_FILE_ENTRY ? (uint32_t)s->at : 0,
		.name = s->name ? s->name : "",
		.target = text,
	};

	switch (s->type) {
	case WIRE_FILE_ENTRY:
		wire_entry_put(wr, &entry);
		break;
	case WIRE_FILE_DATA:
		wire_file_data_put(
			wr, &(struct msg_file_data){ .offset = s->at,
						     .data = text,
						     .len = strlen(text) });
		break;
	case WIRE_FILE_END:
		wire_file_end_put(wr, &(struct msg_file_end){ .size = s->at });
		break;
	case WIRE_FILE_XATTR:
		wire_xattr_put(wr, &(struct msg_xattr){ .name = s->name,
							.data = text,
							.len = strlen(text) });
		break;
	case WIRE_FILE_NOTE:
		wire_note_put(wr, &(struct msg_note){ .code = EACCES,
						      .sentence = text });
		break;
	case WIRE_TRUNCATED:
		wire_truncated_put(
			wr, &(struct msg_truncated){ .stream = 1, .lost = 1 });
		break;
	case WIRE_ERROR:
		wire_error_put(wr,
			       &(struct msg_error){ .code = (uint32_t)s->at,
						    .kind = WIRE_ERR_GENERAL,
						    .sentence = text });
		break;
	default:
		wire_empty_put(wr, s->type);
	}
}

static void tell(struct peer *p, const struct lie *lie)
{
	char c;

	for (size_t i = 0; i < STEPS_MAX && lie->step[i].type; i++) {
		uint8_t buf[1024];
		struct wr wr = wr_init(buf, sizeof(buf));

		uint64_t n = lie->step[i].type == WIRE_FILE_NOTE
				     ? lie->step[i].at
				     : 1;

		put_step(&wr, &lie->step[i]);
		while (n--)
			fake_send(p, &wr);
	}
	fake_put_done(p);
	while (read(p->fd, &c, 1) > 0)
		continue;
}

/* Notes by the thousand, until COMMIT is the last that has come. */
static void chatter(struct peer *p)
{
	static const struct step note = { WIRE_FILE_NOTE, 0, NULL, "and", 0 };
	uint8_t commit[WIRE_HDR_LEN], last[4096];
	struct wr wr = wr_init(commit, sizeof(commit));
	static uint8_t buf[65536];
	size_t have = 0;

	wire_empty_put(&wr, WIRE_FILE_COMMIT);
	wr = wr_init(buf, sizeof(buf));
	while (sizeof(buf) - wr.len > 64)
		put_step(&wr, &note);
	while (have < sizeof(commit) ||
	       memcmp(last + have - sizeof(commit), commit, sizeof(commit))) {
		size_t keep = MIN(have, sizeof(commit));
		ssize_t n;

		fake_send(p, &wr);
		memmove(last, last + have - keep, keep);
		n = recv(p->fd, last + keep, sizeof(last) - keep, MSG_DONTWAIT);
		if (n == 0)
			return;
		have = keep + (size_t)MAX(n, 0);
	}
	fake_put_done(p);
}

bool fake_evil_files(struct peer *p, const struct msg_file *m)
{
	const char *name = m->path + strlen(EVIL);

	if (strncmp(m->path, EVIL, strlen(EVIL)) != 0)
		return false;
	if (strcmp(name, "chatter") == 0)
		chatter(p);
	for (size_t i = 0; i < ARRAY_LEN(lies); i++)
		if (strlen(lies[i].name) == strcspn(name, "/") &&
		    strncmp(lies[i].name, name, strlen(lies[i].name)) == 0)
			tell(p, &lies[i]);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_evil.c - answers to ATTACH as only a hostile agent gives them */
#include <string.h>

#include "tests/lib/fake_vmm.h"

void fake_put_started(struct peer *p, const char *id)
{
	const struct msg_started m = { .pid = 7, .start_ns = 1, .id = id };
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_started_put(&wr, &m);
	fake_send(p, &wr);
}

static void put_piece(struct peer *p, int stream, uint64_t cursor,
		      const char *text)
{
	struct fake_chunk c = { .stream = stream,
				.cursor = cursor,
				.len = strlen(text) };

	memcpy(&c.data, &text, sizeof(text));
	fake_put_chunk(p, &c);
}

static void put_truncated(struct peer *p, uint64_t cursor, uint64_t lost)
{
	const struct msg_truncated m = { .stream = 1,
					 .cursor = cursor,
					 .lost = lost };
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_truncated_put(&wr, &m);
	fake_send(p, &wr);
}

static void put_total(struct peer *p, uint64_t total, uint64_t cut)
{
	fake_put_exit(p, &(struct msg_exit){ .how = WIRE_HOW_EXITED,
					     .state = WIRE_STATE_EXITED,
					     .stdout_total = total,
					     .stdout_cut = cut,
					     .end_ns = 1 });
}

void fake_put_done(struct peer *p)
{
	uint8_t buf[16];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_empty_put(&wr, WIRE_DONE);
	fake_send(p, &wr);
}

/* Output goes on somewhere else than was asked for. */
static void evil_gap(struct peer *p)
{
	fake_put_started(p, "evil-gap");
	put_piece(p, 0, 5, "gap");
}

static void evil_total(struct peer *p)
{
	fake_put_started(p, "evil-total");
	put_piece(p, 0, 0, "1234");
	put_total(p, 9, 0);
}

static void evil_nothing(struct peer *p)
{
	fake_put_started(p, "evil-nothing");
	put_total(p, 9, 0);
}

static void evil_early(struct peer *p)
{
	put_piece(p, 0, 0, "early");
}

static void evil_again(struct peer *p)
{
	fake_put_started(p, "evil-again");
	fake_put_started(p, "evil-again");
}

static void evil_cut(struct peer *p)
{
	fake_put_started(p, "evil-cut");
	put_piece(p, 0, 0, "ab");
	put_truncated(p, 10, 3);
}

static void evil_done(struct peer *p)
{
	fake_put_started(p, "evil-done");
	fake_put_done(p);
}

/* Not evil: what a slow client is told. */
static void slow(struct peer *p)
{
	fake_put_started(p, "slow");
	put_truncated(p, 1000, 1000);
	put_piece(p, 0, 1000, "tail");
	put_truncated(p, 2004, 1000);
	put_piece(p, 0, 2004, "\nend\n");
	put_total(p, 2009, 2000);
}

static const struct {
	const char *id;
	void (*fn)(struct peer *p);
} evil[] = {
	{ "evil-gap", evil_gap },         { "evil-total", evil_total },
	{ "evil-nothing", evil_nothing }, { "evil-early", evil_early },
	{ "evil-again", evil_again },     { "evil-cut", evil_cut },
	{ "evil-done", evil_done },       { "slow", slow },
};

bool fake_be_evil(struct peer *p, const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(evil); i++)
		if (strcmp(evil[i].id, id) == 0) {
			evil[i].fn(p);
			return true;
		}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/print.c - see print.h */
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/print.h"

#define TIME_MAX 32

static void put_line(FILE *out, const char *s, size_t len, const char *when)
{
	if (when)
		(void)fprintf(out, "%s ", when);
	(void)fwrite(s, 1, len, out);
}

/* A line gets the time of its first byte. */
static void put_bytes(struct print *p, unsigned int i,
		      const struct hutch_exec_event *ev)
{
	FILE *out = i ? stderr : stdout;
	const char *s = ev->data;
	char when[TIME_MAX];
	size_t len = ev->len;
	bool stamp = p->timestamps && ev->time_ns;

	if (stamp)
		(void)hutch_time_text(ev->time_ns, when, sizeof(when));
	while (len > 0) {
		const char *nl = stamp ? memchr(s, '\n', len) : NULL;
		size_t n = nl ? (size_t)(nl - s) + 1 : len;

		put_line(out, s, n, stamp && !p->in_line[i] ? when : NULL);
		p->in_line[i] = s[n - 1] != '\n';
		s += n;
		len -= n;
	}
	margin_wrote(&p->margin, i, ev->data, ev->len);
	/* Keeps the order of the two where they meet in a terminal. */
	(void)fflush(out);
}

void print_event(struct print *p, const struct hutch_exec_event *ev)
{
	struct jsonw j = { .out = stdout };
	char line[EVENT_SENTENCE_MAX];

	if (p->json) {
		event_put(&j, p->text, ev);
	} else if (ev->kind == HUTCH_EXEC_TRUNCATED) {
		event_truncated_text(line, ev);
		cli_warn_after(margin_break(&p->margin), line);
	} else if (ev->kind == HUTCH_EXEC_STDOUT ||
		   ev->kind == HUTCH_EXEC_STDERR) {
		put_bytes(p, ev->kind == HUTCH_EXEC_STDERR, ev);
	}
}

static struct hutch_exec_event as_event(const struct hutch_log_piece *piece)
{
	return (struct hutch_exec_event){
		.kind = piece->stream == 2 ? HUTCH_EXEC_STDERR
					   : HUTCH_EXEC_STDOUT,
		.data = piece->data,
		.len = piece->len,
		.cursor = piece->cursor,
		.time_ns = piece->time_ns,
	};
}

void print_piece(struct print *p, const struct hutch_log_piece *piece)
{
	struct hutch_exec_event ev = as_event(piece);
	uint64_t *next = &p->next[piece->stream == 2];
	uint64_t gap = ev.cursor - *next, skip = *next - ev.cursor;

	if (ev.cursor > *next) {
		const struct hutch_exec_event lost = {
			.kind = HUTCH_EXEC_TRUNCATED,
			.stream = piece->stream,
			.lost = gap,
			.cursor = ev.cursor,
		};

		print_event(p, &lost);
	} else if (skip >= ev.len) {
		return;
	} else {
		ev.data = (const char *)ev.data + skip;
		ev.len -= skip;
		ev.cursor = *next;
	}
	*next = ev.cursor + ev.len;
	print_event(p, &ev);
}

void print_console(struct print *p, const struct hutch_log_piece *piece)
{
	struct hutch_exec_event ev = as_event(piece);

	/* Only so that the pieces are seen to be one text. */
	ev.cursor = p->next[0];
	p->next[0] += ev.len;
	print_event(p, &ev);
}

void print_end(struct print *p)
{
	struct jsonw j = { .out = stdout };

	for (unsigned int i = 0; p->json && i < 2; i++)
		event_output_end(&j, &p->text[i], i);
}

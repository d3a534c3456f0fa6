/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/replay.c - see replay.h */
#include <stdlib.h>
#include <string.h>

#include "host/cli/replay.h"

#define ENQ 0x05
#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a
#define ESC 0x1b
#define DEL 0x7f

size_t replay_release(struct replay *r, char *out)
{
	size_t n = r->n;

	memcpy(out, r->held, n);
	r->n = 0;
	r->state = REPLAY_TEXT;
	r->esc = false;
	return n;
}

/* ---- Which are questions ---- */

/**
 * struct csi - A sequence taken apart: ESC [ mark numbers middle final
 * @mark:	One of <=>? or 0
 * @number:	The first
 * @middle:	The last byte of 0x20 to 0x2f, or 0
 */
struct csi {
	char mark;
	unsigned long number;
	char middle;
	char final;
};

/* @mark: "" for none, "*" for any, else those that it may be. */
static const struct {
	char final;
	char middle;
	const char *mark;
} asks[] = {
	{ 'n', 0, "?" },    { 'n', 0, "" },    /* DSR, CPR */
	{ 'c', 0, ">=" },   { 'c', 0, "" },    /* DA1 to DA3 */
	{ 'q', 0, ">" },                       /* XTVERSION */
	{ 'p', '$', "*" },                     /* DECRQM */
	{ 'x', 0, "" },                        /* DECREQTPARM */
	{ 'u', 0, "?" },                       /* kitty's keyboard */
	{ 'm', 0, "?" },                       /* XTQMODKEYS */
	{ 'S', 0, "?" },                       /* XTSMGRAPHICS */
	{ 'w', '$', "*" },  { 'u', '$', "*" }, /* DECRQPSR, DECRQTSR */
	{ 'u', '&', "*" },                     /* DECRQUPSS */
	{ 'y', '*', "*" },                     /* DECRQCRA */
	{ '|', '\'', "*" },                    /* DECRQLP */
	{ '|', '#', "*" },  { 'S', '#', "*" }, /* XTREPORTSGR, XTTITLEPOS */
	{ 'R', '#', "*" },                     /* XTREPORTCOLORS */
};

/* XTWINOPS: some numbers do, some ask. */
static bool asks_window(const struct csi *c)
{
	static const unsigned char numbers[] = { 11, 13, 14, 15, 16,
						 18, 19, 20, 21 };

	if (c->final != 't' || c->mark || c->middle)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (c->number == numbers[i])
			return true;
	return false;
}

static bool may_be(char mark, const char *these)
{
	if (*these == '*')
		return true;
	return mark ? strchr(these, mark) != NULL : *these == '\0';
}

static bool csi_asks(const struct replay *r)
{
	const char *p = r->held + 2, *end = r->held + r->n - 1;
	struct csi c = { .final = *end };
	char number[8] = "";
	size_t n = 0;

	if (p < end && *p >= '<' && *p <= '?')
		c.mark = *p++;
	for (; p + n < end && n < sizeof(number) - 1 && p[n] >= '0' &&
	       p[n] <= '9';
	     n++)
		number[n] = p[n];
	c.number = strtoul(number, NULL, 10);
	if (end > p && end[-1] >= 0x20 && end[-1] <= 0x2f)
		c.middle = end[-1];
	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		if (asks[i].final == c.final && asks[i].middle == c.middle &&
		    may_be(c.mark, asks[i].mark))
			return true;
	return asks_window(&c);
}

/* A string of fields with ';' between: whether one is @what, or ends so. */
static bool has_field(const char *s, const char *what, bool end_only)
{
	size_t len = strlen(what);

	while (*s) {
		size_t n = strcspn(s, ";");

		if ((end_only ? n >= len : n == len) &&
		    strncmp(s + n - len, what, len) == 0)
			return true;
		s += n + (s[n] == ';');
	}
	return false;
}

/* Colours, fonts, the clipboard and the like: asked for by a "?". */
static bool osc_asks(const char *s)
{
	char *rest;
	unsigned long number = strtoul(s, &rest, 10);

	if (rest == s || *rest != ';')
		return false;
	rest++;
	if (number == 4 || number == 5 || (number >= 10 && number <= 19) ||
	    number == 50 || number == 52)
		return has_field(rest, "?", false);
	if (number == 21)
		return has_field(rest, "=?", true);
	if (number == 22)
		return *rest == '?';
	return number == 1337 && strncmp(rest, "Report", 6) == 0;
}

/* DECRQSS, XTGETTCAP, XTGETXRES */
static bool dcs_asks(const char *s)
{
	return strncmp(s, "$q", 2) == 0 || strncmp(s, "+q", 2) == 0 ||
	       strncmp(s, "+Q", 2) == 0;
}

/* kitty's graphics: what stands in front of the ';' is its fields. */
static bool apc_asks(char *s)
{
	s[strcspn(s, ";")] = '\0';
	for (char *p = s; *p; p++)
		if (*p == ',')
			*p = ';';
	return *s == 'G' && has_field(s + 1, "a=q", false);
}

static bool string_asks(const struct replay *r)
{
	/* What begins and what ends it is not of it: ESC ], BEL or ESC \. */
	size_t end = r->held[r->n - 1] == BEL ? 1 : 2;
	char s[REPLAY_HOLD_MAX];
	size_t len = r->n - 2 - end;

	memcpy(s, r->held + 2, len);
	s[len] = '\0';
	switch (r->held[1]) {
	case ']':
		return osc_asks(s);
	case 'P':
		return dcs_asks(s);
	case '_':
		return apc_asks(s);
	default:
		return false;
	}
}

/* ---- Byte by byte ---- */

static void hold(struct replay *r, char c, enum replay_state state)
{
	r->held[r->n++] = c;
	r->state = state;
}

/* It is whole. Return: bytes at @out. */
static size_t finish(struct replay *r, bool drop, char *out)
{
	if (drop)
		r->n = 0;
	return replay_release(r, out);
}

/* Held bytes, then this one. */
static size_t pass_with(struct replay *r, char c, char *out)
{
	size_t n = replay_release(r, out);

	out[n++] = c;
	return n;
}

/*
 * A new one begins.  One that was on the way is undone by that, so it goes too:
 * if it stayed, and the new one did not, what follows would be the rest of it.
 * Where it has been passed on, the terminal is told.
 */
static size_t begin(struct replay *r, char *out)
{
	size_t n = r->state == REPLAY_LONG;

	*out = CAN; /* or no byte at all */
	r->n = 0;
	r->esc = false;
	hold(r, ESC, REPLAY_ESC);
	return n;
}

static size_t in_text(struct replay *r, char c, char *out)
{
	if (c == ESC)
		return begin(r, out);
	if (c == ENQ)
		return 0;
	*out = c;
	return 1;
}

static size_t after_esc(struct replay *r, char c, char *out)
{
	if (c == '[')
		hold(r, c, REPLAY_CSI);
	else if (c && strchr("]P_X^", c))
		hold(r, c, REPLAY_STRING);
	else if (c == 'Z') /* DECID */
		return finish(r, true, out);
	else
		return pass_with(r, c, out);
	return 0;
}

static size_t in_csi(struct replay *r, char c, char *out)
{
	if ((unsigned char)c > DEL || r->n == sizeof(r->held) - 1)
		return pass_with(r, c, out);
	hold(r, c, REPLAY_CSI);
	return c >= 0x40 ? finish(r, csi_asks(r), out) : 0;
}

static size_t take(struct replay *r, char c, char *out);

static size_t in_string(struct replay *r, char c, char *out)
{
	bool st = r->esc && c == '\\', last = st || c == BEL;
	bool full = r->state == REPLAY_LONG || r->n == sizeof(r->held) - 1;
	size_t n = 0;

	/* Any other sequence in it ends it unfinished. */
	if (r->esc && !st) {
		n = begin(r, out);
		return n + take(r, c, out + n);
	}
	if (full)
		n = replay_release(r, out);
	if (full && c != ESC) {
		out[n++] = c;
		r->state = last ? REPLAY_TEXT : REPLAY_LONG;
		return n;
	}
	hold(r, c, full ? REPLAY_LONG : REPLAY_STRING);
	r->esc = c == ESC;
	return last ? finish(r, string_asks(r), out) : n;
}

static size_t take(struct replay *r, char c, char *out)
{
	bool sequence = r->state == REPLAY_ESC || r->state == REPLAY_CSI;

	if (r->state == REPLAY_TEXT)
		return in_text(r, c, out);
	if (c == CAN || c == SUB)
		return pass_with(r, c, out);
	if (!sequence)
		return in_string(r, c, out);
	if (c == ESC)
		return begin(r, out);
	/* A terminal does these at once, and goes on with the sequence. */
	if ((unsigned char)c < 0x20 || c == DEL) {
		*out = c;
		return c != ENQ;
	}
	return r->state == REPLAY_ESC ? after_esc(r, c, out)
				      : in_csi(r, c, out);
}

size_t replay_pass(struct replay *r, uint64_t cursor, const char *in,
		   size_t len, char *out)
{
	size_t past = cursor < r->until ? (size_t)MIN(r->until - cursor, len)
					: 0;
	size_t n = cursor == r->next ? 0 : replay_release(r, out);

	r->next = cursor + len;
	for (size_t i = 0; i < past; i++)
		n += take(r, in[i], out + n);
	if (cursor + len >= r->until)
		n += replay_release(r, out + n);
	memcpy(out + n, in + past, len - past);
	return n + len - past;
}

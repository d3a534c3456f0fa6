/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_cli_show.c - a guest's bytes on a terminal and in JSON
 *
 * Input: one byte, columns to show; one byte, in pieces of how many bytes it
 * comes; the bytes.  What is shown holds nothing a terminal would obey and
 * fits; the events of JSON, read back, are the bytes that went in.  What a
 * terminal is shown of the past does not depend on the pieces, and has no
 * question that a second look would find.
 */
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/base.h"
#include "host/cli/event.h"
#include "host/cli/replay.h"
#include "host/cli/text.h"
#include "tests/fuzz/fuzz.h"

#define IN_MAX   4096u
#define ROOM_MIN 5u

static void show(const uint8_t *data, size_t len, size_t cols, size_t room)
{
	char *in = calloc(1, len + 1), *out = malloc(room);
	size_t n;

	bug_on(!in || !out);
	memcpy(in, data, len);
	n = text_show(out, room, in, cols);
	bug_on(n > cols || strlen(out) >= room);
	for (const char *s = out; *s; s++)
		bug_on((unsigned char)*s < ' ' || *s == 0x7f);
	for (const char *s = out; *s;) {
		uint32_t wc = 0;
		int k = text_utf8(s, strlen(s), &wc);

		/* C1 controls are two bytes, and no better for it. */
		bug_on(k <= 0 || (wc >= 0x80 && wc < 0xa0));
		s += k;
	}
	free(in);
	free(out);
}

static uint8_t digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const char *at = strchr(digits, c);

	bug_on(!at || !c);
	return (uint8_t)(at - digits);
}

/* Return: bytes written to @dst, which has room for all of them. */
static size_t from_base64(uint8_t *dst, const char *s)
{
	size_t n = 0, len = strlen(s);

	bug_on(len % 4 != 0);
	for (; *s; s += 4) {
		size_t pad = s[3] == '=' ? s[2] == '=' ? 2 : 1 : 0;
		uint32_t v = 0;

		for (size_t i = 0; i < 4; i++)
			v = v << 6 | (i < 4 - pad ? digit(s[i]) : 0);
		for (size_t i = 0; i < 3 - pad; i++)
			dst[n++] = (uint8_t)(v >> (16 - 8 * i));
	}
	return n;
}

/* One line of the events, of the byte at @cursor on. */
static size_t read_event(uint8_t *dst, const char *line, size_t len,
			 size_t cursor)
{
	json_t *v = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	json_t *text = json_object_get(v, "text");
	json_t *base64 = json_object_get(v, "base64");
	size_t n;

	bug_on(!v || !text == !base64);
	bug_on(json_integer_value(json_object_get(v, "cursor")) !=
	       (json_int_t)cursor);
	if (text) {
		n = json_string_length(text);
		memcpy(dst, json_string_value(text), n);
	} else {
		n = from_base64(dst, json_string_value(base64));
	}
	json_decref(v);
	return n;
}

static void events(const uint8_t *data, size_t len, size_t piece)
{
	uint8_t *back = malloc(len + 1);
	struct event_text t[2] = { 0 };
	char *lines = NULL;
	size_t n_lines = 0, n = 0;
	struct jsonw j = { .out = open_memstream(&lines, &n_lines) };

	bug_on(!back || !j.out);
	for (size_t i = 0; i < len; i += piece) {
		size_t k = MIN(piece, len - i);
		uint8_t *copy = malloc(k);

		bug_on(!copy);
		memcpy(copy, data + i, k);
		event_put(&j, t,
			  &(struct hutch_exec_event){ .kind = HUTCH_EXEC_STDERR,
						      .data = copy,
						      .len = k,
						      .cursor = i,
						      .time_ns = 1 });
		free(copy);
	}
	event_output_end(&j, &t[1], 1);
	bug_on(fclose(j.out) != 0);
	for (char *s = lines; s < lines + n_lines;) {
		size_t k = strcspn(s, "\n");

		n += read_event(back + n, s, k, n);
		bug_on(n > len);
		s += k + 1;
	}
	bug_on(n != len || memcmp(back, data, len) != 0);
	free(lines);
	free(back);
}

static size_t replay(const char *data, size_t len, size_t piece, char *out)
{
	struct replay r = { .until = len };
	size_t n = 0;

	for (size_t i = 0; i < len; i += piece) {
		size_t k = MIN(piece, len - i);
		char *copy = malloc(k), *shown = malloc(k + REPLAY_HOLD_MAX);
		size_t got;

		bug_on(!copy || !shown);
		memcpy(copy, data + i, k);
		got = replay_pass(&r, i, copy, k, shown);
		memcpy(out + n, shown, got);
		n += got;
		free(copy);
		free(shown);
	}
	bug_on(r.n);
	return n;
}

static void past(const char *data, size_t len, size_t piece)
{
	char *once = malloc(len + 1), *other = malloc(len + 1);
	size_t n;

	bug_on(!once || !other);
	n = replay(data, len, len, once);
	bug_on(n > len);
	bug_on(replay(data, len, piece, other) != n ||
	       memcmp(once, other, n) != 0);
	bug_on(n &&
	       (replay(once, n, n, other) != n || memcmp(once, other, n) != 0));
	free(once);
	free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 3 || len > IN_MAX)
		return 0;
	bug_on(!setlocale(LC_CTYPE, "C.UTF-8"));
	show(data + 2, len - 2, data[0], ROOM_MIN + data[1]);
	show(data + 2, len - 2, SIZE_MAX, 4 * len + ROOM_MIN);
	events(data + 2, len - 2, data[1] % 64 + 1u);
	past((const char *)data + 2, len - 2, data[1] % 64 + 1u);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/head.c - see head.h */
#include <string.h>
#include <strings.h>

#include "host/net/intercept/head.h"

#define END     "\r\n\r\n"
#define END_LEN 4u

size_t head_end(const char *buf, size_t len, size_t from)
{
	size_t at = from < END_LEN ? 0 : from - END_LEN + 1;
	const char *end = memmem(buf + at, len - at, END, END_LEN);

	return end ? (size_t)(end - buf) + END_LEN : 0;
}

/* RFC 9110, 5.6.2 */
static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && is_token(s[i]))
		i++;
	return i;
}

/* Method, one blank, target, one blank, version. */
static const char *check_first(const char *s, size_t n)
{
	size_t m = token(s, n), t = 0;

	if (m == 0 || m == n || s[m] != ' ')
		return "its first line has no method";
	s += m + 1;
	n -= m + 1;
	while (t < n && s[t] > ' ' && s[t] < 0x7f)
		t++;
	if (t == 0 || t > HEAD_TARGET_MAX || t == n || s[t] != ' ')
		return "its target is none, or too long";
	s += t + 1;
	n -= t + 1;
	if (n != 8 ||
	    (memcmp(s, "HTTP/1.1", 8) != 0 && memcmp(s, "HTTP/1.0", 8) != 0))
		return "its version is not HTTP/1.1 or 1.0";
	return NULL;
}

static const char *check_field(const char *s, size_t n)
{
	size_t t = token(s, n);

	if (n > 0 && (s[0] == ' ' || s[0] == '\t'))
		return "one of its headers goes on in the next line";
	if (t == 0 || t == n || s[t] != ':')
		return "one of its headers has no name";
	for (size_t i = t + 1; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return "one of its headers has a control character in "
			       "it";
	}
	return NULL;
}

const char *head_check(const char *buf, size_t len)
{
	const char *why, *end = buf + len - 2; /* the empty line */
	size_t n_lines = 0;

	for (const char *s = buf; s < end; n_lines++) {
		const char *lf = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)(lf ? lf - s : end - s);

		if (!lf || n == 0 || s[n - 1] != '\r')
			return "one of its lines does not end in CR and LF";
		why = n_lines ? check_field(s, n - 1) : check_first(s, n - 1);
		if (why)
			return why;
		s = lf + 1;
	}
	if (n_lines > HEAD_FIELDS_MAX + 1)
		return "it has too many headers";
	return n_lines ? NULL : "it is empty";
}

/* End the next line with a NUL and go behind it. Return: the line. */
static char *next_line(char **at)
{
	char *line = *at, *cr = strstr(line, "\r\n");

	*cr = '\0';
	*at = cr + 2;
	return line;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct head_field split_field(char *line)
{
	char *colon = strchr(line, ':');
	char *value = colon + 1, *end = value + strlen(value);

	*colon = '\0';
	while (is_blank(*value))
		value++;
	while (end > value && is_blank(end[-1]))
		*--end = '\0';
	return (struct head_field){ .name = line, .value = value };
}

const char *head_split(char *buf, size_t len, struct head *ret)
{
	char *at = buf, *line, *version;

	*ret = (struct head){ 0 };
	buf[len - 2] = '\0'; /* (of the empty line) */
	line = next_line(&at);
	ret->method = line;
	ret->target = strchr(line, ' ');
	*ret->target++ = '\0';
	version = strchr(ret->target, ' ');
	*version++ = '\0';
	ret->http10 = strcmp(version, "HTTP/1.0") == 0;
	while (*at) {
		if (ret->n == HEAD_FIELDS_MAX)
			return "it has too many headers";
		ret->field[ret->n++] = split_field(next_line(&at));
	}
	return NULL;
}

const char *head_get(const struct head *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (strcasecmp(h->field[i].name, name) == 0)
			return h->field[i].value;
	return NULL;
}

size_t head_count(const struct head *h, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += strcasecmp(h->field[i].name, name) == 0;
	return n;
}

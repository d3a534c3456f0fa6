/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/name.c - see name.h */
#include <errno.h>
#include <idn2.h>
#include <string.h>

#include "host/net/policy/name.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* What the URL standard calls a number: "127", "017", "0x7f", "0x". */
static bool is_number(const char *s, size_t len)
{
	bool hex = len >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');

	if (len == 0)
		return false;
	for (size_t i = hex ? 2 : 0; i < len; i++)
		if (!(hex ? is_hex(s[i]) : is_digit(s[i])))
			return false;
	return true;
}

/* Where the last label begins, the last dot aside; *len is then without it. */
static const char *last_label(const char *s, size_t *len)
{
	size_t at;

	if (*len > 0 && s[*len - 1] == '.')
		(*len)--;
	for (at = *len; at > 0 && s[at - 1] != '.'; at--)
		;
	return s + at;
}

bool name_is_literal(const char *s, size_t len)
{
	const char *last;

	if (memchr(s, ':', len) || (len > 0 && s[0] == '['))
		return true;
	last = last_label(s, &len);
	return is_number(last, len - (size_t)(last - s));
}

/* Return: the byte in lower case; 0 if no host name has it. */
static char lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c | 0x20);
	if ((c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_')
		return c;
	return 0;
}

int name_normal(const char *s, size_t len, char ret[NAME_CAP])
{
	char out[NAME_CAP];
	size_t label = 0;

	if (len > 0 && s[len - 1] == '.')
		len--;
	if (len > NAME_MAX_LEN)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++) {
		out[i] = s[i];
		if (s[i] != '.')
			out[i] = lower(s[i]);
		if (!out[i] || (s[i] == '.' && label == 0))
			return -EINVAL;
		label = s[i] == '.' ? 0 : label + 1;
		if (label > NAME_LABEL_MAX)
			return -ENAMETOOLONG;
	}
	if (label == 0 || name_is_literal(out, len))
		return -EINVAL;
	out[len] = '\0';
	memcpy(ret, out, len + 1);
	return 0;
}

/* ---- Patterns ---- */

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

static int plain_name(const char *s, char *ret, struct err *e)
{
	size_t len = strlen(s);
	int r = name_normal(s, len, ret);

	if (r == -ENAMETOOLONG)
		return err_set(e, -EINVAL,
			       "is too long for a host name: %d bytes in all, "
			       "%d from dot to dot",
			       NAME_MAX_LEN, NAME_LABEL_MAX);
	if (r < 0 && strchr(s, '*'))
		return err_set(e, -EINVAL,
			       "has a star elsewhere than as all of its first "
			       "part; write '*.example.org', or '*' for any");
	if (r < 0)
		return err_set(e, -EINVAL,
			       "is no host name, address, range such as "
			       "10.0.0.0/8, or 'internet'; a port goes into "
			       "\"ports\"");
	return 0;
}

/* "bücher.example" as resolvers, certificates and clients have it. */
static int idn_name(const char *s, char *ret, struct err *e)
{
	char *ascii = NULL;
	int r = idn2_to_ascii_8z(s, &ascii,
				 IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);

	if (r != IDN2_OK)
		return err_set(e, -EINVAL,
			       "is no international host name: %s; write its "
			       "'xn--' form if you are sure of it",
			       idn2_strerror(r));
	r = plain_name(ascii, ret, e);
	idn2_free(ascii);
	return r;
}

int name_pattern(const char *s, char ret[NAME_CAP], struct err *e)
{
	char name[NAME_CAP];
	bool star = strncmp(s, "*.", 2) == 0;
	const char *rest = star ? s + 2 : s;
	int r;

	if (strcmp(s, "*") == 0) {
		memcpy(ret, s, 2);
		return 0;
	}
	r = is_ascii(rest) ? plain_name(rest, name, e)
			   : idn_name(rest, name, e);
	if (r < 0)
		return r;
	if (star && strlen(name) > NAME_MAX_LEN - 2)
		return err_set(e, -EINVAL,
			       "is so long that no name can be below it");
	if (star)
		*ret++ = '*', *ret++ = '.';
	memcpy(ret, name, strlen(name) + 1);
	return 0;
}

bool name_is_inside(const char *name)
{
	static const char *const below[] = {
		"*.alt",      "*.corp",      "*.home",    "*.home.arpa",
		"*.internal", "*.intranet",  "*.invalid", "*.lan",
		"*.local",    "*.localhost", "*.onion",   "*.private",
		"*.test",     "home.arpa",
	};

	for (size_t i = 0; i < ARRAY_LEN(below); i++)
		if (name_matches(below[i], name))
			return true;
	return !strchr(name, '.');
}

bool name_matches(const char *pattern, const char *name)
{
	size_t n = strlen(name), tail;

	if (pattern[0] != '*')
		return strcmp(pattern, name) == 0;
	/* ".example.org", with something in front of it. */
	tail = strlen(pattern + 1);
	return n > tail && strcmp(name + n - tail, pattern + 1) == 0;
}

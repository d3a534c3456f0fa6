/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/tarball_head.c - see tarball_head.h */
#include <string.h>

#include "host/lib/tarball.h"
#include "host/lib/tarball_head.h"

#define NS_PER_S 1000000000ll
#define NAME_LEN 100u

/* Where the fields of a header are. */
#define AT_MODE  100
#define AT_UID   108
#define AT_GID   116
#define AT_SIZE  124
#define AT_MTIME 136
#define AT_SUM   148
#define AT_TYPE  156
#define AT_LINK  157
#define AT_MAGIC 257
#define AT_MAJOR 329
#define AT_MINOR 337

/* An octal field that ends in NUL. Return: whether it is one */
static bool octal(const uint8_t *p, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i + 1 < len; i++) {
		if (p[i] < '0' || p[i] > '7')
			return false;
		v = v * 8 + (uint64_t)(p[i] - '0');
	}
	*ret = v;
	return p[len - 1] == '\0';
}

static bool octal32(const uint8_t *p, uint32_t *ret)
{
	uint64_t v = 0;
	bool ok = octal(p, 8, &v);

	*ret = (uint32_t)v;
	return ok;
}

static bool sum_ok(const uint8_t *p)
{
	unsigned int sum = 8 * ' ';
	uint64_t want;

	for (size_t i = 0; i < TARBALL_BLOCK; i++)
		if (i < AT_SUM || i >= AT_SUM + 8)
			sum += p[i];
	return octal(p + AT_SUM, 7, &want) && want == sum;
}

static bool decimal(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || v > max / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*ret = v;
	return v <= max;
}

/* "-1.500000000": seconds, and nine digits. */
static bool mtime(const char *s, int64_t *ret)
{
	bool minus = *s == '-';
	const char *dot = strchr(s, '.');
	char word[24];
	uint64_t whole, part;
	int64_t ns;

	s += minus;
	if (!dot || (size_t)(dot - s) >= sizeof(word) || strlen(dot) != 10)
		return false;
	memcpy(word, s, (size_t)(dot - s));
	word[dot - s] = '\0';
	if (!decimal(word, INT64_MAX, &whole) ||
	    !decimal(dot + 1, NS_PER_S - 1, &part) ||
	    __builtin_mul_overflow((int64_t)whole, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)part, &ns))
		return false;
	*ret = minus ? -ns : ns;
	return true;
}

static bool string(char *to, size_t size, const char *s)
{
	size_t len = strlen(s);

	if (len >= size)
		return false;
	memcpy(to, s, len + 1);
	return true;
}

static bool number32(const char *s, uint32_t *ret)
{
	uint64_t v = 0;
	bool ok = decimal(s, UINT32_MAX, &v);

	*ret = (uint32_t)v;
	return ok;
}

static bool pax_one(struct tarball_entry *m, const char *key, const char *value)
{
	if (strcmp(key, "path") == 0)
		return string(m->path, sizeof(m->path), value);
	if (strcmp(key, "linkpath") == 0)
		return m->type == '1' ||
		       string(m->target, sizeof(m->target), value);
	if (strcmp(key, "size") == 0)
		return decimal(value, INT64_MAX, &m->size);
	if (strcmp(key, "mtime") == 0)
		return mtime(value, &m->mtime_ns);
	if (strcmp(key, "uid") == 0)
		return number32(value, &m->uid);
	if (strcmp(key, "gid") == 0)
		return number32(value, &m->gid);
	if (strcmp(key, "comment") == 0)
		return strncmp(value, TARBALL_LINK, strlen(TARBALL_LINK)) ==
			       0 &&
		       number32(value + strlen(TARBALL_LINK), &m->link);
	return false;
}

/* "LEN KEY=VALUE\n" after the other; NULs were refused before. */
static bool pax_all(struct tarball_entry *m, char *p, size_t len)
{
	while (len) {
		char *blank = memchr(p, ' ', MIN(len, 8)), *eq;
		uint64_t n;

		if (!blank)
			return false;
		*blank = '\0';
		if (!decimal(p, len, &n) || n < (size_t)(blank - p) + 4 ||
		    p[n - 1] != '\n')
			return false;
		p[n - 1] = '\0';
		eq = strchr(blank + 1, '=');
		if (!eq)
			return false;
		*eq = '\0';
		if (!pax_one(m, blank + 1, eq + 1))
			return false;
		p += n;
		len -= n;
	}
	return true;
}

bool tarball_head_ok(const uint8_t *p)
{
	return sum_ok(p) && memcmp(p + AT_MAGIC, "ustar", 6) == 0;
}

bool tarball_head_is_pax(const uint8_t *p)
{
	return p[AT_TYPE] == 'x';
}

bool tarball_head_size(const uint8_t *p, uint64_t *ret)
{
	return octal(p + AT_SIZE, 12, ret);
}

bool tarball_head_parse(const uint8_t *p, char *pax, size_t pax_len,
			struct tarball_entry *m)
{
	uint64_t s;

	m->type = (char)p[AT_TYPE];
	m->link = 0;
	m->target[0] = '\0';
	memcpy(m->path, p, NAME_LEN);
	m->path[NAME_LEN] = '\0';
	if (m->type == '2') {
		memcpy(m->target, p + AT_LINK, NAME_LEN);
		m->target[NAME_LEN] = '\0';
	}
	if (!octal32(p + AT_MODE, &m->mode) || !octal32(p + AT_UID, &m->uid) ||
	    !octal32(p + AT_GID, &m->gid) ||
	    !octal(p + AT_SIZE, 12, &m->size) || !octal(p + AT_MTIME, 12, &s) ||
	    !octal32(p + AT_MAJOR, &m->major) ||
	    !octal32(p + AT_MINOR, &m->minor))
		return false;
	m->mtime_ns = (int64_t)MIN(s, INT64_MAX / NS_PER_S) * NS_PER_S;
	return pax_all(m, pax, pax_len);
}

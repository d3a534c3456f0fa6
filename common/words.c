/* SPDX-License-Identifier: Apache-2.0 */
/* common/words.c - see words.h */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/words.h"

#define QUOTE_MAX   64
#define DIGITS_FRAC 9u

__extension__ typedef unsigned __int128 u128;

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 },           { "K", 1ull << 10 }, { "M", 1ull << 20 },
	{ "G", 1ull << 30 }, { "T", 1ull << 40 },
};

static const struct unit time_units[] = {
	{ "", 1000000000ull },
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000ull },
	{ "m", 60 * 1000000000ull },
	{ "h", 3600 * 1000000000ull },
};

static int bad(const char *what, const char *s, int code, const char *wants,
	       struct err *e)
{
	char q[QUOTE_MAX];

	return err_set(e, code, "%s: '%s' is %s; %s", what,
		       log_escape(q, sizeof(q), s, strlen(s)),
		       code == -ERANGE ? "out of range" : "not understood",
		       wants);
}

/* Digits at *s; moves *s past them.  Return: 0, -EINVAL, -ERANGE. */
static int read_digits(const char **s, uint64_t *ret)
{
	uint64_t v = 0;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**s - '0'), &v))
			return -ERANGE;
	}
	*ret = v;
	return 0;
}

/* ".5" at *s as parts of 10^DIGITS_FRAC; 0 if there is no point. */
static int read_fraction(const char **s, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned int n = 0;

	*ret = 0;
	if (**s != '.')
		return 0;
	(*s)++;
	for (; **s >= '0' && **s <= '9'; (*s)++, n++) {
		if (n >= DIGITS_FRAC)
			return -EINVAL;
		v = v * 10 + (uint64_t)(**s - '0');
	}
	if (n == 0)
		return -EINVAL;
	for (; n < DIGITS_FRAC; n++)
		v *= 10;
	*ret = v;
	return 0;
}

static int with_unit(const char *s, const struct unit *u, size_t n,
		     uint64_t *ret)
{
	uint64_t whole = 0, frac = 0;
	int r = read_digits(&s, &whole);

	if (r == 0)
		r = read_fraction(&s, &frac);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		uint64_t v;

		if (strcmp(s, u[i].suffix) != 0)
			continue;
		if (__builtin_mul_overflow(whole, u[i].factor, &v))
			return -ERANGE;
		frac = (uint64_t)((u128)frac * u[i].factor / 1000000000u);
		if (__builtin_add_overflow(v, frac, &v))
			return -ERANGE;
		*ret = v;
		return 0;
	}
	return -EINVAL;
}

int words_size(const char *what, const char *s, uint64_t *ret, struct err *e)
{
	int r = with_unit(s, size_units, ARRAY_LEN(size_units), ret);

	if (r < 0)
		return bad(what, s, r,
			   "write bytes, or a number with K, M, G "
			   "or T, such as 512M",
			   e);
	return 0;
}

int words_duration(const char *what, const char *s, uint64_t *ret,
		   struct err *e)
{
	int r = with_unit(s, time_units, ARRAY_LEN(time_units), ret);

	if (r < 0)
		return bad(what, s, r,
			   "write seconds, or a number with ms, s, "
			   "m or h, such as 1.5s",
			   e);
	return 0;
}

int words_uint(const char *what, const char *s, uint64_t min, uint64_t max,
	       uint64_t *ret, struct err *e)
{
	char q[QUOTE_MAX];
	const char *p = s;
	uint64_t v = 0;
	int r = read_digits(&p, &v);

	if (r == 0 && *p)
		r = -EINVAL;
	else if (r == 0 && (v < min || v > max))
		r = -ERANGE;
	if (r < 0)
		return err_set(e, r,
			       "%s: '%s' is not a number from %llu to "
			       "%llu",
			       what, log_escape(q, sizeof(q), s, strlen(s)),
			       (unsigned long long)min,
			       (unsigned long long)max);
	*ret = v;
	return 0;
}

bool words_name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && n <= WORDS_NAME_MAX && !s[n] && s[0] != '-';
}

int words_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void words_hex_text(char *ret, const void *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++) {
		*ret++ = digits[b[i] >> 4];
		*ret++ = digits[b[i] & 15];
	}
	*ret = '\0';
}

/* Six pairs of digits with a ':' between. */
bool words_mac(const char *s, size_t len, uint8_t ret[WORDS_MAC_LEN])
{
	if (len != 3 * WORDS_MAC_LEN - 1)
		return false;
	for (size_t i = 0; i < WORDS_MAC_LEN; i++) {
		int hi = words_hex(s[3 * i]), lo = words_hex(s[3 * i + 1]);

		if (hi < 0 || lo < 0 ||
		    (i + 1 < WORDS_MAC_LEN && s[3 * i + 2] != ':'))
			return false;
		ret[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

bool words_mac_is_one(const uint8_t mac[WORDS_MAC_LEN])
{
	static const uint8_t zero[WORDS_MAC_LEN];

	return !(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)) != 0;
}

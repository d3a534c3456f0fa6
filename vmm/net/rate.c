/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/net/rate.c - see rate.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/words.h"
#include "vmm/net/rate.h"

#define NS_PER_S  1000000000ull
#define WORD_MAX  32
#define QUOTE_MAX 64

/* Saved up at most: this part of a second's worth, and one token. */
#define SAVED_PART 10u

/* "1000p" is packets, all else a size. */
static int take_part(const char *what, const char *s, size_t len,
		     struct net_rate *r, struct err *e)
{
	char word[WORD_MAX];
	int ret;

	if (len == 0 || len >= sizeof(word))
		return err_set(e, -EINVAL,
			       "%s: write BYTES, PACKETSp or BYTES/PACKETSp a "
			       "second, as 10M/1000p",
			       what);
	(void)snprintf(word, sizeof(word), "%.*s", (int)len, s);
	if (word[len - 1] == 'p') {
		word[len - 1] = '\0';
		if (r->packets)
			return err_set(e, -EINVAL,
				       "%s: packets stand there "
				       "twice",
				       what);
		return words_uint(what, word, 1, NET_RATE_PACKETS_MAX,
				  &r->packets, e);
	}
	if (r->bytes)
		return err_set(e, -EINVAL, "%s: bytes stand there twice", what);
	ret = words_size(what, word, &r->bytes, e);
	if (ret == 0 && (r->bytes == 0 || r->bytes > NET_RATE_BYTES_MAX))
		ret = err_set(e, -ERANGE,
			      "%s: '%s' is not 1 to 64G bytes a second", what,
			      word);
	return ret;
}

int net_rate_parse(const char *what, const char *s, struct net_rate *ret,
		   struct err *e)
{
	const char *slash = strchr(s, '/');
	struct net_rate r = { 0 };
	int code = take_part(what, s, slash ? (size_t)(slash - s) : strlen(s),
			     &r, e);

	if (code == 0 && slash)
		code = take_part(what, slash + 1, strlen(slash + 1), &r, e);
	if (code == 0)
		*ret = r;
	return code;
}

static int64_t most(const struct net_bucket *b)
{
	return (int64_t)(MAX(b->rate / SAVED_PART, 1) * NS_PER_S);
}

static void bucket_init(struct net_bucket *b, uint64_t rate, uint64_t now_ns)
{
	*b = (struct net_bucket){ .rate = rate, .at_ns = now_ns };
	b->level = most(b);
}

/* What a long rest would add is cut before it is multiplied. */
static void fill(struct net_bucket *b, uint64_t now_ns)
{
	uint64_t ns = now_ns - b->at_ns;
	uint64_t room = (uint64_t)(most(b) - b->level);

	if (now_ns <= b->at_ns)
		return;
	b->at_ns = now_ns;
	if (ns >= room / b->rate + 1)
		b->level = most(b);
	else
		b->level += (int64_t)(ns * b->rate);
}

static uint64_t bucket_wait(struct net_bucket *b, uint64_t now_ns)
{
	if (!b->rate)
		return 0;
	fill(b, now_ns);
	return b->level > 0 ? 0 : (uint64_t)-b->level / b->rate + 1;
}

void net_limit_init(struct net_limit *l, const struct net_rate *rate,
		    uint64_t now_ns)
{
	bucket_init(&l->bytes, rate->bytes, now_ns);
	bucket_init(&l->packets, rate->packets, now_ns);
}

uint64_t net_limit_wait(struct net_limit *l, uint64_t now_ns)
{
	uint64_t a = bucket_wait(&l->bytes, now_ns);
	uint64_t b = bucket_wait(&l->packets, now_ns);

	return MAX(a, b);
}

void net_limit_take(struct net_limit *l, size_t len)
{
	if (l->bytes.rate)
		l->bytes.level -= (int64_t)(len * NS_PER_S);
	if (l->packets.rate)
		l->packets.level -= (int64_t)NS_PER_S;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/forward.c - see forward.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/forward.h"
#include "host/cli/value.h"

#define PORT_MAX   65535
#define WORD_BYTES 80

/* Cut "[ADDRESS]:" or "ADDRESS:" off. Return: what follows, or NULL */
static char *take_host(char *word, struct forward_one *ret)
{
	char *end = word, *rest;
	size_t len;

	if (*word == '[') {
		word++;
		end = strchr(word, ']');
		rest = end && end[1] == ':' ? end + 2 : NULL;
	} else {
		end = strchr(word, ':');
		rest = end ? end + 1 : NULL;
	}
	len = end ? (size_t)(end - word) : 0;
	if (!rest || len == 0 || len >= sizeof(ret->host))
		return NULL;
	memcpy(ret->host, word, len);
	ret->host[len] = '\0';
	ret->f.host = ret->host;
	return rest;
}

static unsigned int count(const char *s, char c)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

static int refuse(const char *what, const char *word, bool place,
		  struct hutch_err *e)
{
	return value_refuse(e, what, word,
			    place ? "is not [HOST:]PORT, with an IPv6 address "
				    "in brackets"
				  : "is not [HOST:]PORT:GUEST_PORT, with an "
				    "IPv6 address in brackets");
}

int forward_read(const char *what, const char *word, bool place,
		 struct forward_one *ret, struct hutch_err *e)
{
	char copy[WORD_BYTES], *s = copy, *guest;
	size_t len = strlen(word);
	int r;

	ret->f = (struct hutch_forward)HUTCH_FORWARD_INIT;
	if (len >= sizeof(copy))
		return refuse(what, word, place, e);
	memcpy(copy, word, len + 1);
	if (*s == '[' || count(s, ':') > (place ? 0 : 1))
		s = take_host(s, ret);
	if (!s || count(s, ':') != (place ? 0 : 1))
		return refuse(what, word, place, e);
	guest = place ? NULL : strchr(s, ':');
	if (guest)
		*guest++ = '\0';
	r = value_uint(what, s, place ? 1 : 0, PORT_MAX, &ret->f.port, e);
	return r < 0 ? r
		     : value_uint(what, guest, 1, PORT_MAX, &ret->f.guest_port,
				  e);
}

int forwards_read(struct cli_forwards *fs, const char *const *words, size_t n,
		  struct hutch_err *e)
{
	int r = 0;

	if (n == 0)
		return 0;
	fs->one = calloc(n, sizeof(*fs->one));
	fs->list = calloc(n + 1, sizeof(void *));
	if (!fs->one || !fs->list) {
		(void)snprintf(e->msg, sizeof(e->msg), "out of memory");
		e->code = -ENOMEM;
		return -ENOMEM;
	}
	for (fs->n = 0; r == 0 && fs->n < n; fs->n++) {
		r = forward_read("--publish", words[fs->n], false,
				 &fs->one[fs->n], e);
		fs->list[fs->n] = &fs->one[fs->n].f;
	}
	return r;
}

void forwards_done(struct cli_forwards *fs)
{
	free(fs->list);
	free(fs->one);
	*fs = (struct cli_forwards){ 0 };
}

const char *forward_place(const struct hutch_forward *f,
			  char buf[FORWARD_PLACE_MAX])
{
	const char *host = f->host ? f->host : "127.0.0.1";

	(void)snprintf(buf, FORWARD_PLACE_MAX,
		       strchr(host, ':') ? "[%.*s]:%u" : "%.*s:%u",
		       HUTCH_ADDRESS_MAX, host, f->port);
	return buf;
}

void forward_json(struct jsonw *j, const struct hutch_forward *f)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "host", f->host ? f->host : "127.0.0.1");
	jsonw_uint(j, "port", f->port);
	jsonw_uint(j, "guest_port", f->guest_port);
	jsonw_object_end(j);
}

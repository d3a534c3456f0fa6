/* SPDX-License-Identifier: Apache-2.0 */
/* common/ctl.c - see ctl.h */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/ctl.h"
#include "common/log.h"
#include "common/words.h"

#define QUOTE_MAX 48

/* Errors that cross a control socket by name; others arrive as EIO. */
static const struct {
	int code;
	const char *name;
} names[] = {
	{ -EINVAL, "EINVAL" },
	{ -EBADMSG, "EBADMSG" },
	{ -ENOENT, "ENOENT" },
	{ -EEXIST, "EEXIST" },
	{ -ESRCH, "ESRCH" },
	{ -EBUSY, "EBUSY" },
	{ -EAGAIN, "EAGAIN" },
	{ -EPERM, "EPERM" },
	{ -EACCES, "EACCES" },
	{ -ENOMEM, "ENOMEM" },
	{ -ENOSPC, "ENOSPC" },
	{ -EMSGSIZE, "EMSGSIZE" },
	{ -EPIPE, "EPIPE" },
	{ -ETIMEDOUT, "ETIMEDOUT" },
	{ -ENOTSUP, "ENOTSUP" },
	{ -ECANCELED, "ECANCELED" },
	{ -EALREADY, "EALREADY" },
	{ -ECONNRESET, "ECONNRESET" },
	{ -ENOSYS, "ENOSYS" },
	{ -EMFILE, "EMFILE" },
	{ -EADDRINUSE, "EADDRINUSE" },
	{ -EADDRNOTAVAIL, "EADDRNOTAVAIL" },
	{ -EIO, "EIO" },
};

const char *ctl_errno_name(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].code == code)
			return names[i].name;
	return "EIO";
}

int ctl_errno_code(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].code;
	return -EIO;
}

static bool is_word(const char *s)
{
	if (!s || *s < 'a' || *s > 'z')
		return false;
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

/* %XX back to bytes, in place; a NUL cannot be in a string. */
static int unescape(char *s)
{
	char *out = s;

	while (*s) {
		int hi, lo;

		if (*s != '%') {
			*out++ = *s++;
			continue;
		}
		hi = words_hex(s[1]);
		lo = hi < 0 ? -1 : words_hex(s[2]);
		if (lo < 0 || (hi == 0 && lo == 0))
			return -EBADMSG;
		*out++ = (char)(hi << 4 | lo);
		s += 3;
	}
	*out = '\0';
	return 0;
}

/* Cut the next word off *p; NULL at the end. */
static char *next_word(char **p)
{
	char *word = *p, *blank;

	if (!word)
		return NULL;
	blank = strchr(word, ' ');
	if (blank)
		*blank++ = '\0';
	*p = blank;
	return word;
}

static int parse_arg(char *word, struct ctl_msg *m, struct err *e)
{
	char *value = strchr(word, '=');
	char q[QUOTE_MAX];

	if (value)
		*value++ = '\0';
	if (!value || !is_word(word) || unescape(value) < 0)
		return err_set(e, -EBADMSG,
			       "'%s' is not a KEY=VALUE, or its value is not "
			       "well escaped",
			       log_escape(q, sizeof(q), word, strlen(word)));
	if (ctl_get(m, word))
		return err_set(e, -EBADMSG, "'%s' is given twice", word);
	if (m->n_args == CTL_ARGS_MAX)
		return err_set(e, -EBADMSG, "more than %d values",
			       CTL_ARGS_MAX);
	m->arg[m->n_args++] = (struct ctl_arg){ word, value };
	return 0;
}

static int parse_error(char *rest, struct ctl_msg *m, struct err *e)
{
	m->code = next_word(&rest);
	m->sentence = rest ? rest : "";
	if (!m->code || (rest && unescape(rest) < 0))
		return err_set(e, -EBADMSG, "an error answer without a code");
	return 0;
}

static int check_bytes(const char *line, size_t len, struct err *e)
{
	if (len >= CTL_LINE_MAX)
		return err_set(e, -EBADMSG, "a line of more than %d bytes",
			       CTL_LINE_MAX - 1);
	for (size_t i = 0; i < len; i++)
		if (line[i] < ' ' || line[i] > '~')
			return err_set(
				e, -EBADMSG,
				"byte %#x at %zu must be written as %%XX",
				(unsigned char)line[i], i);
	return 0;
}

int ctl_parse(char *line, size_t len, struct ctl_msg *ret, struct err *e)
{
	char q[QUOTE_MAX];
	char *p = line, *word;
	int r = check_bytes(line, len, e);

	*ret = (struct ctl_msg){ 0 };
	if (r < 0)
		return r;
	line[len] = '\0';
	word = next_word(&p);
	if (!is_word(word))
		return err_set(e, -EBADMSG, "'%s' is not a verb",
			       log_escape(q, sizeof(q), word, strlen(word)));
	ret->verb = word;
	if (strcmp(word, "error") == 0)
		return parse_error(p, ret, e);
	while (r == 0 && (word = next_word(&p)))
		r = parse_arg(word, ret, e);
	return r;
}

const char *ctl_get(const struct ctl_msg *m, const char *key)
{
	for (unsigned int i = 0; i < m->n_args; i++)
		if (strcmp(m->arg[i].key, key) == 0)
			return m->arg[i].value;
	return NULL;
}

int ctl_get_u64(const struct ctl_msg *m, const char *key, uint64_t *ret)
{
	const char *v = ctl_get(m, key);

	if (!v)
		return -ENOENT;
	return words_uint(key, v, 0, UINT64_MAX, ret, NULL) < 0 ? -EINVAL : 0;
}

static void put(struct ctl_out *o, const char *s, size_t len)
{
	/* One byte stays free for the newline. */
	if (o->bad || len > sizeof(o->buf) - 1 - o->len) {
		o->bad = 1;
		return;
	}
	memcpy(o->buf + o->len, s, len);
	o->len += len;
}

static void put_escaped(struct ctl_out *o, const char *s, const char *literal)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		char x[3] = { '%', digits[c >> 4], digits[c & 15] };

		if ((c > ' ' && c <= '~' && c != '%') || strchr(literal, c))
			put(o, s, 1);
		else
			put(o, x, sizeof(x));
	}
}

void ctl_begin(struct ctl_out *o, const char *verb)
{
	o->len = 0;
	o->bad = 0;
	put(o, verb, strlen(verb));
}

void ctl_add(struct ctl_out *o, const char *key, const char *value)
{
	put(o, " ", 1);
	put(o, key, strlen(key));
	put(o, "=", 1);
	put_escaped(o, value, "");
}

void ctl_add_u64(struct ctl_out *o, const char *key, uint64_t value)
{
	char s[24];

	(void)snprintf(s, sizeof(s), "%llu", (unsigned long long)value);
	ctl_add(o, key, s);
}

void ctl_error(struct ctl_out *o, int code, const char *sentence)
{
	const char *name = ctl_errno_name(code);

	ctl_begin(o, "error ");
	put(o, name, strlen(name));
	put(o, " ", 1);
	put_escaped(o, sentence, " ");
}

int ctl_end(struct ctl_out *o)
{
	if (o->bad)
		return -EMSGSIZE;
	o->buf[o->len++] = '\n';
	return (int)o->len;
}

/* One byte at a time: what follows the newline is not ours to take. */
static ssize_t read_line(int fd, char line[CTL_LINE_MAX])
{
	size_t len = 0;

	while (len < CTL_LINE_MAX) {
		ssize_t n = recv(fd, line + len, CTL_LINE_MAX - len, MSG_PEEK);
		char *nl;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		nl = memchr(line + len, '\n', (size_t)n);
		if (nl)
			n = nl - (line + len) + 1;
		n = recv(fd, line + len, (size_t)n, 0);
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		len += (size_t)n;
		if (nl)
			return (ssize_t)len - 1;
	}
	return -EBADMSG;
}

/* Not io_write_full(): a peer that went away is an errno, not a signal. */
static int send_all(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

int ctl_call(int fd, struct ctl_out *req, char line[CTL_LINE_MAX],
	     struct ctl_msg *ret, struct err *e)
{
	int len = ctl_end(req);
	ssize_t n;
	int r;

	if (len < 0)
		return err_set(e, len, "control: the request is too long");
	r = send_all(fd, req->buf, (size_t)len);
	if (r < 0)
		return err_set(e, r, "control: %s", strerror(-r));
	n = read_line(fd, line);
	if (n < 0)
		return err_set(e, (int)n, "control: %s", strerror((int)-n));
	r = ctl_parse(line, (size_t)n, ret, e);
	if (r < 0)
		return err_wrap(e, r, "control: answer");
	if (strcmp(ret->verb, "error") == 0)
		return err_set(e, ctl_errno_code(ret->code), "%s",
			       ret->sentence);
	return strcmp(ret->verb, "ok") == 0
		       ? 0
		       : err_set(e, -EBADMSG, "control: answer '%s'",
				 ret->verb);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/net_opt.c - see net_opt.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/words.h"
#include "vmm/net/stream.h"
#include "vmm/net_opt.h"
#include "vmm/opt.h"

#define FD_MAX (1u << 20)

/* One of them says what the link is. */
static int take_kind(struct net_opt *o, enum net_kind kind, struct err *e)
{
	if (o->kind != NET_NONE)
		return err_set(e, -EINVAL,
			       "--net: give one of none, tap=IF, fd=N and "
			       "unix=PATH");
	o->kind = kind;
	return 0;
}

static int take_tap(void *ctx, const struct opt_value *v, struct err *e)
{
	struct net_opt *o = ctx;
	char q[OPT_QUOTE_MAX];

	if (v->len == 0 || v->len > NET_TAP_NAME_MAX ||
	    memchr(v->s, '/', v->len) || memchr(v->s, '%', v->len))
		return err_set(e, -EINVAL,
			       "--net: tap=%s: a name of an interface has 1 to "
			       "%u bytes, without '/' and '%%'",
			       opt_quote(q, v), NET_TAP_NAME_MAX);
	memcpy(o->tap, v->s, v->len);
	o->tap[v->len] = '\0';
	return take_kind(o, NET_TAP, e);
}

static int take_fd_n(void *ctx, const struct opt_value *v, struct err *e)
{
	struct net_opt *o = ctx;
	uint64_t n = 0;
	int r = opt_uint("--net: fd", v, 0, FD_MAX, &n, e);

	if (r < 0)
		return r;
	o->fd = (int)n;
	return take_kind(o, NET_FD, e);
}

static int take_unix(void *ctx, const struct opt_value *v, struct err *e)
{
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	struct net_opt *o = ctx;

	if (v->len == 0 || v->len > most)
		return err_set(e, -EINVAL,
			       "--net: unix: the path of a socket has 1 to %zu "
			       "bytes, not %zu",
			       most, v->len);
	o->path = v->s;
	o->path_len = v->len;
	return take_kind(o, NET_UNIX, e);
}

static int take_mac(void *ctx, const struct opt_value *v, struct err *e)
{
	struct net_opt *o = ctx;
	char q[OPT_QUOTE_MAX];

	if (!words_mac(v->s, v->len, o->mac))
		return err_set(e, -EINVAL,
			       "--net: mac: write it as 02:00:00:00:00:01, not "
			       "'%s'",
			       opt_quote(q, v));
	if (!words_mac_is_one(o->mac))
		return err_set(e, -EINVAL,
			       "--net: mac: '%s' is not the address of one "
			       "interface",
			       opt_quote(q, v));
	return 0;
}

static int take_mtu(void *ctx, const struct opt_value *v, struct err *e)
{
	struct net_opt *o = ctx;
	uint64_t n = 0;
	int r = opt_uint("--net: mtu", v, VIRTIO_NET_MTU_MIN,
			 VIRTIO_NET_MTU_MAX, &n, e);

	if (r == 0)
		o->mtu = (unsigned int)n;
	return r;
}

static int take_rate(void *ctx, const struct opt_value *v, struct err *e)
{
	struct net_opt *o = ctx;
	char word[OPT_WORD_MAX];

	opt_word(word, v);
	return net_rate_parse("--net: rate", word, &o->rate, e);
}

static int take_vnet(void *ctx, const struct opt_value *v, struct err *e)
{
	struct net_opt *o = ctx;
	char q[OPT_QUOTE_MAX];

	if (!opt_is(v, "on") && !opt_is(v, "off"))
		return err_set(e, -EINVAL,
			       "--net: vnet-hdr is on or off, not '%s'",
			       opt_quote(q, v));
	o->vnet = opt_is(v, "on");
	return 0;
}

static const struct opt_key keys[] = {
	{ "tap", false, take_tap },       { "fd", false, take_fd_n },
	{ "unix", false, take_unix },     { "mac", false, take_mac },
	{ "mtu", false, take_mtu },       { "rate", false, take_rate },
	{ "vnet-hdr", false, take_vnet },
};

static const struct opt_keys keys_of_net = { "--net", keys, ARRAY_LEN(keys) };

int net_opt_parse(const char *v, struct net_opt *ret, struct err *e)
{
	struct net_opt o = { .fd = -1, .mac = NET_OPT_MAC };
	unsigned int seen = 0;
	int r = 0;

	if (strcmp(v, "none") != 0)
		r = opt_parse(&keys_of_net, v, &o, &seen, e);
	if (r == 0 && seen && o.kind == NET_NONE)
		r = err_set(e, -EINVAL,
			    "--net: give one of none, tap=IF, fd=N and "
			    "unix=PATH");
	if (r == 0 && o.kind == NET_TAP &&
	    opt_seen(&keys_of_net, seen, "vnet-hdr"))
		r = err_set(e, -EINVAL,
			    "--net: tap=%s: vnet-hdr is for fd and unix: a "
			    "tap always has it",
			    o.tap);
	if (r == 0)
		*ret = o;
	return r;
}

static int open_unix(struct net_opt *o, struct err *e)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd;

	(void)snprintf(path, sizeof(path), "%.*s", (int)o->path_len, o->path);
	fd = net_stream_connect(path, e);
	if (fd < 0)
		return err_wrap(e, fd, "--net");
	o->fd = fd;
	o->kind = NET_STREAM;
	return 0;
}

static bool is_stream(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM;
}

static int take_given(struct net_opt *o, struct err *e)
{
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);
	int r;

	if (is_stream(o->fd)) {
		if (getpeername(o->fd, (struct sockaddr *)&peer, &len) < 0)
			return err_set(e, -EINVAL,
				       "--net: fd=%d is not connected", o->fd);
		o->kind = NET_STREAM;
		return 0;
	}
	if (o->vnet)
		return err_set(e, -EINVAL,
			       "--net: fd=%d: vnet-hdr is for Unix stream "
			       "sockets",
			       o->fd);
	r = net_tap_take(o->fd, &o->queues, e);
	if (r < 0)
		return err_wrap(e, r, "--net");
	o->fd = -1;
	o->kind = NET_TAP;
	return 0;
}

int net_opt_open(struct net_opt *o, unsigned int most, struct err *e)
{
	int r;

	switch (o->kind) {
	case NET_TAP:
		r = net_tap_open(o->tap, MIN(most, NET_QUEUES_MAX), &o->queues,
				 e);
		return r < 0 ? err_wrap(e, r, "--net") : 0;
	case NET_UNIX:
		return open_unix(o, e);
	case NET_FD:
		return take_given(o, e);
	default:
		return 0;
	}
}

void net_opt_close(struct net_opt *o)
{
	net_tap_done(&o->queues);
	drop_fd(&o->fd);
}

int net_opt_link(struct net_opt *o, struct net_link **ret)
{
	if (o->kind == NET_TAP)
		return net_tap_new(&o->queues, ret);
	return net_stream_new(take_fd(&o->fd), o->vnet, ret);
}

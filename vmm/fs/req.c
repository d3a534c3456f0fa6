/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/req.c - see req.h */
#include <errno.h>
#include <string.h>

#include "vmm/fs/req.h"
#include "vmm/fs/state.h"

/* The lengths are the device's, each at most 4 GiB: no sum can wrap. */
static size_t total(const struct iovec *iov, unsigned int n)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

int fs_req_init(struct fs_req *r, const struct iovec *in, unsigned int n_in,
		const struct iovec *out, unsigned int n_out)
{
	size_t room = total(out, n_out);
	size_t len = total(in, n_in);

	r->in = in;
	r->n_in = n_in;
	r->in_off = 0;
	r->in_left = len;
	r->out = out;
	r->n_out = n_out;
	r->len = 0;
	r->room = 0;
	if (fs_req_get(r, &r->h, sizeof(r->h)) < 0)
		return FS_NO_REPLY;
	if (room >= sizeof(struct fuse_out_header))
		r->room = room - sizeof(struct fuse_out_header);
	else if (r->h.opcode != FUSE_FORGET && r->h.opcode != FUSE_BATCH_FORGET)
		return FS_NO_REPLY;
	/* Extensions are for flags that INIT does not ask for. */
	if (r->h.len != len || r->h.total_extlen)
		return -EINVAL;
	return 0;
}

/* What has been read is behind us; @len is no more than there is. */
static void advance(struct fs_req *r, size_t len)
{
	r->in_left -= len;
	while (len > 0) {
		size_t part = MIN(len, r->in->iov_len - r->in_off);

		len -= part;
		r->in_off += part;
		if (r->in_off == r->in->iov_len) {
			r->in++;
			r->n_in--;
			r->in_off = 0;
		}
	}
}

/* One side is the guest's, which may be a file's page that is no more. */
static int copy(const struct fs_req *r, void *dst, const void *src, size_t len)
{
	const struct fs_opts *o = &r->s->o;

	if (o->copy)
		return o->copy(o->copy_ctx, dst, src, len);
	memcpy(dst, src, len);
	return 0;
}

static int copy_in(const struct fs_req *r, void *dst, size_t len)
{
	const struct iovec *iov = r->in;
	size_t off = r->in_off;
	uint8_t *d = dst;
	int e = 0;

	for (; e == 0 && len > 0; iov++, off = 0) {
		size_t part = MIN(len, iov->iov_len - off);

		if (part == 0)
			continue;
		e = copy(r, d, (const uint8_t *)iov->iov_base + off, part);
		d += part;
		len -= part;
	}
	return e;
}

int fs_req_get(struct fs_req *r, void *dst, size_t len)
{
	int e;

	if (len > r->in_left)
		return -EINVAL;
	e = copy_in(r, dst, len);
	if (e == 0)
		advance(r, len);
	return e;
}

int fs_req_string(struct fs_req *r, char *dst, size_t cap)
{
	size_t n = MIN(cap, r->in_left);
	const char *nul;
	int e = copy_in(r, dst, n);

	if (e < 0)
		return e;
	nul = memchr(dst, '\0', n);
	if (!nul)
		return n == cap ? -ENAMETOOLONG : -EINVAL;
	n = (size_t)(nul - dst);
	advance(r, n + 1);
	return (int)n;
}

int fs_req_name(struct fs_req *r, char dst[FS_NAME_LEN])
{
	int n = fs_req_string(r, dst, FS_NAME_LEN);

	if (n < 0)
		return n;
	if (n == 0 || base_is_dots(dst) || memchr(dst, '/', (size_t)n))
		return -EINVAL;
	return 0;
}

int fs_req_end(const struct fs_req *r)
{
	return r->in_left ? -EINVAL : 0;
}

int fs_req_last(struct fs_req *r, void *dst, size_t len)
{
	return r->in_left == len ? fs_req_get(r, dst, len) : -EINVAL;
}

/* Up to FS_IOV_MAX pieces of @len bytes at @off of @iov. */
static int pieces(const struct iovec *iov, unsigned int n, size_t off,
		  size_t len, struct iovec *ret, size_t *ret_len)
{
	int k = 0;

	*ret_len = 0;
	for (unsigned int i = 0; i < n && len > 0; i++) {
		size_t part;

		if (off >= iov[i].iov_len) {
			off -= iov[i].iov_len;
			continue;
		}
		if (k == (int)FS_IOV_MAX)
			break;
		part = MIN(len, iov[i].iov_len - off);
		ret[k].iov_base = (uint8_t *)iov[i].iov_base + off;
		ret[k++].iov_len = part;
		*ret_len += part;
		len -= part;
		off = 0;
	}
	return k;
}

int fs_req_pieces_in(struct fs_req *r, size_t len, struct iovec *iov,
		     size_t *ret_len)
{
	int n = pieces(r->in, r->n_in, r->in_off, MIN(len, r->in_left), iov,
		       ret_len);

	advance(r, *ret_len);
	return n;
}

int fs_req_pieces_out(const struct fs_req *r, size_t len, struct iovec *iov,
		      size_t *ret_len)
{
	return pieces(r->out, r->n_out, sizeof(struct fuse_out_header) + r->len,
		      MIN(len, r->room - r->len), iov, ret_len);
}

static int copy_out(const struct fs_req *r, size_t off, const void *src,
		    size_t len)
{
	const uint8_t *s = src;
	int e = 0;

	for (unsigned int i = 0; e == 0 && i < r->n_out && len > 0; i++) {
		size_t part;

		if (off >= r->out[i].iov_len) {
			off -= r->out[i].iov_len;
			continue;
		}
		part = MIN(len, r->out[i].iov_len - off);
		e = copy(r, (uint8_t *)r->out[i].iov_base + off, s, part);
		s += part;
		len -= part;
		off = 0;
	}
	return e;
}

int fs_req_needs(const struct fs_req *r, size_t len)
{
	return len > r->room - r->len ? -EINVAL : 0;
}

int fs_req_put(struct fs_req *r, const void *src, size_t len)
{
	int e = fs_req_needs(r, len);

	if (e == 0)
		e = copy_out(r, sizeof(struct fuse_out_header) + r->len, src,
			     len);
	if (e == 0)
		r->len += len;
	return e;
}

size_t fs_req_reply(struct fs_req *r, int result)
{
	struct fuse_out_header h = {
		.len = sizeof(h),
		.error = result,
		.unique = r->h.unique,
	};

	if (result == 0)
		h.len += (uint32_t)r->len;
	/* Without a header it is no answer. */
	return copy_out(r, 0, &h, sizeof(h)) < 0 ? 0 : h.len;
}

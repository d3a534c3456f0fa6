/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/req.h - one request of the guest and the answer to it
 *
 * The only way to the guest's bytes: each is copied out once and in order, and
 * a request that has been read must have been read to its end.  Data of files
 * alone goes to and from the pieces directly, and is never looked at.
 */
#ifndef HUTCH_VMM_FS_REQ_H
#define HUTCH_VMM_FS_REQ_H

#include <limits.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "common/base.h"
#include "vmm/fs/proto.h"

struct fs_server;

/* A name and its NUL. */
#define FS_NAME_LEN (NAME_MAX + 1)

/* Pieces that go to one preadv() or pwritev(): 256 pages and what is beside. */
#define FS_IOV_MAX 260u

/* What an operation returns when there is to be no answer at all. */
#define FS_NO_REPLY 1

/* And when it cannot be done now, and nothing was: see FS_SERVE_LATER. */
#define FS_LATER 2

/**
 * struct fs_req - Request and answer
 * @s:		Whose it is
 * @h:		Copy of its header
 * @in:		Its piece to be read next
 * @n_in:	Pieces from @in on
 * @in_off:	Bytes of @in that have been read
 * @in_left:	Bytes that have not been read, of all pieces
 * @out:	Pieces of the answer
 * @n_out:	Pieces in @out
 * @room:	Bytes that the answer may have behind its header
 * @len:	Bytes of the answer, behind its header, that are there
 */
struct fs_req {
	struct fs_server *s;
	struct fuse_in_header h;
	const struct iovec *in;
	unsigned int n_in;
	size_t in_off;
	size_t in_left;
	const struct iovec *out;
	unsigned int n_out;
	size_t room;
	size_t len;
};

/**
 * fs_req_init() - Begin with a request: read its header
 * @r:		Zero but for @r->s
 *
 * Return: 0; -EINVAL if the header is not sound, and there can be an answer;
 *         FS_NO_REPLY if there cannot
 */
MUST_CHECK int fs_req_init(struct fs_req *r, const struct iovec *in,
			   unsigned int n_in, const struct iovec *out,
			   unsigned int n_out);

/**
 * fs_req_get() - The next @len bytes
 *
 * Return: 0; -EINVAL if it has fewer; -EFAULT, as all that follow, if the
 *         guest's memory there is a file's that has become shorter
 */
MUST_CHECK int fs_req_get(struct fs_req *r, void *dst, size_t len);

/**
 * fs_req_string() - The next bytes up to and with a NUL
 * @cap:	Room in @dst, with the NUL
 *
 * Return: bytes without the NUL; -ENAMETOOLONG if there is none in the next
 *         @cap bytes; -EINVAL if the request ends before it
 */
MUST_CHECK int fs_req_string(struct fs_req *r, char *dst, size_t cap);

/**
 * fs_req_name() - The next string, which is to be one name in a folder
 *
 * Return: 0; -ENAMETOOLONG; -EINVAL if it is empty, ".", ".." or has a '/'
 */
MUST_CHECK int fs_req_name(struct fs_req *r, char dst[FS_NAME_LEN]);

/** fs_req_end() - 0 if all was read, else -EINVAL */
MUST_CHECK int fs_req_end(const struct fs_req *r);

/** fs_req_last() - The next @len bytes, which are the last. Return: 0, -EINVAL */
MUST_CHECK int fs_req_last(struct fs_req *r, void *dst, size_t len);

/**
 * fs_req_pieces_in() - Pieces of what has not been read, for pwritev()
 * @len:	At most so many bytes, which then count as read
 * @ret_len:	Bytes in the pieces
 *
 * Return: pieces, up to FS_IOV_MAX
 */
int fs_req_pieces_in(struct fs_req *r, size_t len, struct iovec *iov,
		     size_t *ret_len);

/** fs_req_pieces_out() - Pieces of the answer from @r->len on, for preadv() */
int fs_req_pieces_out(const struct fs_req *r, size_t len, struct iovec *iov,
		      size_t *ret_len);

/**
 * fs_req_put() - Append to the answer
 *
 * Return: 0, or -EINVAL if the guest left less room
 */
MUST_CHECK int fs_req_put(struct fs_req *r, const void *src, size_t len);

/** fs_req_needs() - 0 if the answer has room for @len bytes, else -EINVAL */
MUST_CHECK int fs_req_needs(const struct fs_req *r, size_t len);

/**
 * fs_req_reply() - Write the answer's header
 * @result:	0, or a negative errno: then the header is all of it
 *
 * Return: bytes of the answer
 */
size_t fs_req_reply(struct fs_req *r, int result);

#endif

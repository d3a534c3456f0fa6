/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/make.h - an image in the making: layers on one another, a commit */
#ifndef HUTCH_HOST_IMAGE_MAKE_H
#define HUTCH_HOST_IMAGE_MAKE_H

#include <stdbool.h>

#include "common/err.h"
#include "host/image/report.h"
#include "host/image/unpack.h"
#include "host/lib/hutch.h"
#include "host/lib/imagestore.h"

/**
 * struct make_opts - What import and pull have in common
 * @name:	As imageref_text() writes it
 */
struct make_opts {
	const struct imagestore *store;
	const struct report *rp;
	const char *name;
	uint64_t max_bytes;
	uint64_t max_entries;
};

/**
 * struct make - An image in the making
 * @stage:	Its folder in the store
 * @tree_fd:	The tree in it
 * @bytes:	Used so far, of the limit
 * @entries:	Likewise
 * @n:		Layers so far
 */
struct make {
	const struct make_opts *o;
	struct stage stage;
	int tree_fd;
	uint64_t bytes;
	uint64_t entries;
	unsigned int n;
};

/** make_begin() - A stage with an empty tree. Return: 0 or -errno */
MUST_CHECK int make_begin(const struct make_opts *o, struct make *ret,
			  struct err *e);

/** make_end() - Remove what has not become an image */
void make_end(struct make *m);

/** make_new_tree() - Put what is in the tree aside, and begin another */
MUST_CHECK int make_new_tree(struct make *m, struct err *e);

/**
 * struct make_blob - A layer to be
 * @fd:		Of its blob
 * @what:	For sentences and progress
 * @packed:	The blob's digest, "sha256:...", or NULL if none is known
 * @plain:	The layer's, or NULL
 */
struct make_blob {
	int fd;
	const char *what;
	const char *packed;
	const char *plain;
};

/** make_layer() - Unpack the next layer. @ret may be NULL */
MUST_CHECK int make_layer(struct make *m, const struct make_blob *b,
			  struct unpack_result *ret, struct err *e);

/** make_is_there() - Whether the store has image @id */
bool make_is_there(const struct make_opts *o, const char *id);

/**
 * make_commit() - Into the store
 * @info:	Its id is set; time and sizes are filled in here
 */
MUST_CHECK int make_commit(struct make *m, struct hutch_image_info *info,
			   struct err *e);

/** make_name() - Only give image @id, which is there, the name */
MUST_CHECK int make_name(const struct make_opts *o, const char *id,
			 struct err *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/imagestore.h - the folder of images
 *
 *	images/lock		flock: held, and briefly, by who changes anything
 *	images/id/ID/		an image: image.json and tree/; flock: in use
 *	images/name/NAME	a file with an ID; '/' is written '+'
 *	images/tmp/HEX/		what is being made or removed; flock: by somebody
 *	images/part/		blobs that a registry has sent a part of
 *
 * How it works.  An image is made in tmp/ (see stage.h), synced, and moved to
 * id/ by one rename; a name is a file, replaced by rename.  To remove an image is
 * to take its names away, then to move it to tmp/.  An image's own lock is taken
 * shared by those who use it.
 */
#ifndef HUTCH_HOST_LIB_IMAGESTORE_H
#define HUTCH_HOST_LIB_IMAGESTORE_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"
#include "host/lib/stage.h"

#define IMAGESTORE_TREE    "tree"
#define IMAGESTORE_SHORTID 12 /* digits that people are shown */
#define IMAGESTORE_PREFIX  4  /* digits an id may be cut to */

/** struct imagestore - Its folders, open; -1 for those that are not */
struct imagestore {
	int fd;
	int id_fd;
	int name_fd;
	int tmp_fd;
	int part_fd;
};

#define IMAGESTORE_INIT            \
	{                          \
		-1, -1, -1, -1, -1 \
	}

/**
 * imagestore_open() - Open the store, making what is missing of it
 * @fd:		Of its folder; taken over, also on failure
 */
MUST_CHECK int imagestore_open(int fd, struct imagestore *ret, struct err *e);

/** imagestore_close() - Takes a half-open one, too */
void imagestore_close(struct imagestore *s);

/** imagestore_stage_new() - A new folder in tmp/, to be closed by stage_close() */
MUST_CHECK int imagestore_stage_new(const struct imagestore *s,
				    struct stage *ret, struct err *e);

/** imagestore_sweep_parts() - The same for parts of blobs */
void imagestore_sweep_parts(const struct imagestore *s);

/** imagestore_sweep_names() - Take away names whose image is not there */
void imagestore_sweep_names(const struct imagestore *s);

/**
 * imagestore_commit() - The stage becomes image @id, called @name
 * @name:	As imageref_text() writes it
 *
 * If there is such an image, that one gets the name, and the stage is left.  One
 * that is damaged is replaced.
 *
 * Return: 0, or -errno with a sentence; -EBUSY if a damaged one is in use
 */
MUST_CHECK int imagestore_commit(const struct imagestore *s, struct stage *st,
				 const char *id, const char *name,
				 struct err *e);

/** imagestore_name() - Give image @id another name. Return: 0, -ENOENT */
MUST_CHECK int imagestore_name(const struct imagestore *s, const char *id,
			       const char *name, struct err *e);

/**
 * imagestore_find() - The id of what a person calls @word
 * @ret_name:	The name that was meant, or "" for an id; may be NULL
 *
 * Return: 0; -ENOENT; -EINVAL; -ENOTUNIQ
 */
MUST_CHECK int imagestore_find(const struct imagestore *s, const char *word,
			       char ret_id[HUTCH_IMAGE_ID_LEN + 1],
			       char ret_name[HUTCH_IMAGE_REF_MAX + 1],
			       struct err *e);

/**
 * imagestore_use() - Open an image's folder, and have it stay
 *
 * Return: a descriptor that holds its lock, shared; -ENOENT
 */
MUST_CHECK int imagestore_use(const struct imagestore *s, const char *id,
			      struct err *e);

/** imagestore_whole() - Whether image @id is there, with all it should have */
bool imagestore_whole(const struct imagestore *s, const char *id);

/**
 * imagestore_info() - image.json and names of an image
 *
 * Return: 0; -ENOENT if there is no such image; -EBADMSG if it is damaged
 */
MUST_CHECK int imagestore_info(const struct imagestore *s, const char *id,
			       struct hutch_image_info **ret, struct err *e);

/** imagestore_ids() - All of them, a list that ends in NULL. Return: count */
MUST_CHECK int imagestore_ids(const struct imagestore *s, char ***ret,
			      struct err *e);

/** imagestore_free_ids() - Free such a list; takes NULL */
void imagestore_free_ids(char **ids);

/** imagestore_needed - Whether image @id must stay. Return: 0, or -errno if so */
typedef int (*imagestore_needed)(void *arg, const char *id, struct err *e);

/** imagestore_unname() - Take one name away. Return: 0 or -errno */
MUST_CHECK int imagestore_unname(const struct imagestore *s, const char *name,
				 struct err *e);

/**
 * imagestore_drop() - Remove an image and all of its names
 * @max_names:	It may have; -1: any number
 * @needed:	Asked, with @arg, while nobody can begin to use the image: refuses
 *		with a sentence if something needs it that has no lock; or NULL
 *
 * Return: 0; -ENOENT; -EBUSY if it is in use; -ENOTEMPTY if it has more names;
 *         or what @needed says
 */
MUST_CHECK int imagestore_drop(const struct imagestore *s, const char *id,
			       int max_names, imagestore_needed needed,
			       void *arg, struct err *e);

#endif

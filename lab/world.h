/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper tells a lab about the lab. */
#ifndef HUTCH_LAB_WORLD_H
#define HUTCH_LAB_WORLD_H

#include <sys/types.h>

#include "frame.h"

/* The configuration: as many strings with their NUL, in this order. */
enum world_key {
	WORLD_TREE,    /* project tree, absolute */
	WORLD_CACHE,   /* cache folder, absolute */
	WORLD_MODULES, /* where lib/modules of the lab's kernel lies */
	WORLD_USER,    /* name of the ordinary user */
	WORLD_UID,
	WORLD_GID,
	WORLD_IMAGES,  /* disk with images, or a folder; empty for none */
	WORLD_SCRATCH, /* folder for /scratch; empty where it is a disk */
	WORLD_N,
};

#define WORLD_MAX 16384u

/**
 * struct world - The configuration, taken apart
 * @text:	Holds the strings
 * @s:		The strings
 * @uid:	Ordinary user
 * @gid:	Its group
 * @kvm_gid:	Group kvm, set when the lab is made
 */
struct world {
	char text[WORLD_MAX];
	const char *s[WORLD_N];
	uid_t uid;
	gid_t gid;
	gid_t kvm_gid;
};

int world_parse(struct world *w, const struct lab_frame *f);
int world_open_port(void);
int world_read(int port, struct lab_buf *in, struct world *ret);
int world_load_modules(const char *dir);
int world_link_images(const struct world *w);
int world_make_vm(struct world *w);
int world_make_ns(struct world *w, int port);
int world_people(struct world *w);
int world_mkdirs(const char *path, mode_t mode);
int world_fail(const char *what, const char *name);

#endif

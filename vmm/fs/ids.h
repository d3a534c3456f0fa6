/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/ids.h - numbers that a guest names things by
 *
 * An id is a place in a table and how often the place has been used, so that
 * one that the guest makes up, or goes on using, is found to be wrong with one
 * look.  No id is given out twice before a place was used 2^32 times.
 *
 * Context: one thread at a time; the server's lock.
 */
#ifndef HUTCH_VMM_FS_IDS_H
#define HUTCH_VMM_FS_IDS_H

#include <stdint.h>

#include "common/base.h"

/**
 * struct fs_ids - Table of ids; zeroed but for @max it is empty
 * @slot:	Places
 * @n:		Places that were ever used
 * @cap:	Places that there is memory for
 * @max:	As many as there may be
 * @used:	Places in use
 * @free:	A place that is not, + 1; 0 if there is none
 */
struct fs_ids {
	struct fs_id_slot *slot;
	uint32_t n;
	uint32_t cap;
	uint32_t max;
	uint32_t used;
	uint32_t free;
};

/**
 * fs_ids_add() - A number for @p, which is not NULL
 *
 * The first of an empty table is 1, and none is ever 0.
 *
 * Return: 0; -ENFILE if there are as many as there may be; -ENOMEM
 */
MUST_CHECK int fs_ids_add(struct fs_ids *ids, void *p, uint64_t *ret);

/** fs_ids_get() - What @id stands for, or NULL */
void *fs_ids_get(const struct fs_ids *ids, uint64_t id);

/** fs_ids_del() - @id, which is there, stands for nothing from now on */
void fs_ids_del(struct fs_ids *ids, uint64_t id);

/** fs_ids_at() - What is in place @i, below @ids->n, or NULL */
void *fs_ids_at(const struct fs_ids *ids, uint32_t i);

void fs_ids_done(struct fs_ids *ids);

#endif

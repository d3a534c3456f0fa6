/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/record.h - record.json: what is known about a VM, on disk
 *
 * docs/json.md describes the fields.  The file is replaced as a whole, by
 * rename, so that a reader, or a crash at any byte, sees the old one or the
 * new one.  Whoever holds the VM's lock may write it.
 */
#ifndef HUTCH_HOST_LIB_RECORD_H
#define HUTCH_HOST_LIB_RECORD_H

#include "common/err.h"
#include "host/lib/hutch.h"

#define RECORD_FILE    "record.json"
#define RECORD_TMP     "record.json.new"
#define RECORD_LAST    "record.json.last"
#define RECORD_VERSION 1
#define RECORD_MAX     (16u << 20) /* bytes; argv and env are up to 2 MiB */
#define RECORD_TEXT    500         /* bytes kept of a reason's text */

/** record_new() - An empty record, state starting; NULL if out of memory */
struct hutch_record *record_new(void);

static inline void record_freep(struct hutch_record **r)
{
	hutch_record_free(*r);
}

/** record_set() - Replace a string field. Return: 0 or -ENOMEM */
MUST_CHECK int record_set(const char **field, const char *s);

/** record_set_list() - Replace argv or env. Return: 0 or -ENOMEM */
MUST_CHECK int record_set_list(const char *const **field, const char *const *v);

/** record_drop() - Free what a const field points to, which is ours */
void record_drop(const void *p);

/** record_drop_list() - Free a list that record_set_list() made; takes NULL */
void record_drop_list(const char *const *v);

/** record_set_text() - Replace the text, escaped and cut at RECORD_TEXT */
void record_set_text(struct hutch_record *rec, const char *s, size_t len);

/** record_parse() - From JSON. Return: 0 or -EBADMSG with a sentence */
MUST_CHECK int record_parse(const char *json, size_t len,
			    struct hutch_record **ret, struct err *e);

/** record_read() - From the folder @dirfd. Return: 0, -ENOENT, -EBADMSG */
MUST_CHECK int record_read(int dirfd, struct hutch_record **ret, struct err *e);

/**
 * record_write() - Replace the file in the folder @dirfd
 * @sync:	Have it on disk before returning
 *
 * Return: 0, or -errno with a sentence; then the old file is untouched
 */
MUST_CHECK int record_write(int dirfd, const struct hutch_record *rec, int sync,
			    struct err *e);

/**
 * record_reserve() - Set disk space aside for record_write_last()
 *
 * So that how a VM ended can be recorded on a disk that has become full.
 *
 * Return: 0, or -errno with a sentence
 */
MUST_CHECK int record_reserve(int dirfd, const struct hutch_record *rec,
			      struct err *e);

/**
 * record_write_last() - As record_write(), synced, in the space set aside
 *
 * Return: 0; -ENOENT if none was; or -errno
 */
MUST_CHECK int record_write_last(int dirfd, const struct hutch_record *rec,
				 struct err *e);

#endif

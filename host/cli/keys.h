/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/keys.h - the keys by which a person leaves a command */
#ifndef HUTCH_CLI_KEYS_H
#define HUTCH_CLI_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "host/cli/base.h"
#include "host/lib/hutch.h"

#define KEYS_MAX     8u /* in one sequence */
#define KEYS_DEFAULT "ctrl-p,ctrl-q"
/* A start of the sequence that goes no further is passed on after this. */
#define KEYS_WAIT_MS 1000

/**
 * struct keys - A sequence, and how much of it has been typed
 * @seq:	Its bytes
 * @n:		Of @seq; 0: nothing leaves
 * @held:	So many of them were typed last and are not passed on yet
 */
struct keys {
	char seq[KEYS_MAX];
	size_t n;
	size_t held;
};

/**
 * keys_parse() - Understand "ctrl-p,ctrl-q", "ctrl-],x" or "" for none
 *
 * Return: 0; -EINVAL
 */
MUST_CHECK int keys_parse(struct keys *k, const char *word,
			  struct hutch_err *e);

/**
 * keys_pass() - Take what was typed
 * @out:	What of it is passed on; room for @len + KEYS_MAX bytes
 * @ret_left:	Set if the sequence is complete; the rest of @in is dropped
 *
 * The sequence may come in pieces: its start is held until it is clear that
 * it is none.
 *
 * Return: bytes at @out
 */
size_t keys_pass(struct keys *k, const char *in, size_t len, char *out,
		 bool *ret_left);

/** keys_release() - What is held is passed on. Return: bytes at @out */
size_t keys_release(struct keys *k, char *out);

#endif

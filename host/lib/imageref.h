/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/imageref.h - what images are called: [DOMAIN/]PATH[:TAG][@DIGEST]
 *
 * Docker's grammar, with one difference: "debian" stays "debian".  Only who
 * asks a registry turns it into "docker.io/library/debian", and says so.
 */
#ifndef HUTCH_HOST_LIB_IMAGEREF_H
#define HUTCH_HOST_LIB_IMAGEREF_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"

#define IMAGEREF_TAG_MAX    128
#define IMAGEREF_DIGEST_LEN (7 + HUTCH_IMAGE_ID_LEN) /* "sha256:" and hex */
#define IMAGEREF_HUB        "docker.io"

/**
 * struct imageref - A reference taken apart; each part is valid or ""
 * @domain:	Host, maybe with a port; "" if none was written
 * @path:	Never ""
 * @tag:	Without the colon
 * @digest:	"sha256:" and 64 hexadecimal digits
 */
struct imageref {
	char domain[HUTCH_IMAGE_REF_MAX + 1];
	char path[HUTCH_IMAGE_REF_MAX + 1];
	char tag[IMAGEREF_TAG_MAX + 1];
	char digest[IMAGEREF_DIGEST_LEN + 1];
};

/** imageref_parse() - Return: 0, or -EINVAL with a sentence */
MUST_CHECK int imageref_parse(const char *s, struct imageref *ret,
			      struct err *e);

/**
 * imageref_text() - The one way to write it: with a digest, or else a tag
 *
 * Return: 0; -EINVAL with a sentence if it is longer than it may be
 */
MUST_CHECK int imageref_text(const struct imageref *ref,
			     char buf[HUTCH_IMAGE_REF_MAX + 1], struct err *e);

/**
 * imageref_expand() - Give it the domain that Docker means
 *
 * Return: 1 if it had none; 0; -EINVAL with a sentence
 */
MUST_CHECK int imageref_expand(struct imageref *ref, struct err *e);

/** imageref_digest_ok() - Whether @s is "sha256:" and 64 digits, no more */
bool imageref_digest_ok(const char *s);

/** imageref_id_ok() - Whether @s is 64 hexadecimal digits, no more */
bool imageref_id_ok(const char *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/name.h - host names in the one form that is compared
 *
 * Lower case, without the last dot, A-labels only ("xn--..."), letters, digits,
 * hyphens and underscores. Every name that comes from outside goes through
 * name_normal(), so that equal means strcmp() and nothing is equal by another
 * spelling.
 */
#ifndef HUTCH_HOST_NET_POLICY_NAME_H
#define HUTCH_HOST_NET_POLICY_NAME_H

#include <stdbool.h>

#include "common/err.h"

#define NAME_MAX_LEN   253 /* RFC 1035: 255 bytes on the wire */
#define NAME_LABEL_MAX 63
#define NAME_CAP       (NAME_MAX_LEN + 1)

/**
 * name_normal() - Bring a name into the form that is compared
 * @s:		@len bytes; need not end in NUL
 * @ret:	NAME_CAP bytes
 *
 * Refused are empty labels, bytes that no host name has (blanks, slashes,
 * percent signs, NUL, anything above 0x7f), and what some program would read as
 * an address: "127.1", "0x7f.0.0.1", "2130706433", "017700000001", since a last
 * label that is a number is a number to the URL standard, and to curl.
 *
 * Return: 0; -EINVAL: no name; -ENAMETOOLONG
 */
MUST_CHECK int name_normal(const char *s, size_t len, char ret[NAME_CAP]);

/**
 * name_is_literal() - Whether @len bytes at @s are an address in any spelling
 *		       that a client accepts: with brackets, a zone, decimal,
 *		       octal, hexadecimal, fewer than four parts
 */
bool name_is_literal(const char *s, size_t len);

/**
 * name_pattern() - Read a rule's name: a host name, "*.example.org", or "*"
 * @s:		UTF-8; a U-label ("bücher.example") becomes an A-label (IDNA2008,
 *		non-transitional)
 * @ret:	The normal form
 * @e:		Half a sentence that goes behind the value: "is ..."
 *
 * A star stands only as all of the first label.
 *
 * Return: 0 or -EINVAL
 */
MUST_CHECK int name_pattern(const char *s, char ret[NAME_CAP], struct err *e);

/**
 * name_is_inside() - Whether a normal name can only be one of the host's networks
 *
 * One without a dot, which resolvers ask the neighbours for (LLMNR) or put a search
 * domain behind; special-use domains (RFC 6761, RFC 6762 with its appendix G,
 * RFC 8375, .internal), whose names the Internet has none of.
 */
bool name_is_inside(const char *name);

/**
 * name_matches() - Whether a normal name is meant by a pattern
 *
 * "*.example.org" means a.example.org and a.b.example.org, and not example.org:
 * one who owns a zone owns all below it, and what an allowance opens is the zone
 * (unlike a certificate's star, which RFC 6125 binds to one label: that star
 * says for which names a key may speak). "*" means every name.
 */
bool name_matches(const char *pattern, const char *name);

#endif

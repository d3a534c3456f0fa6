/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/ca.h - a VM's own certificate authority
 *
 * Made anew for each VM, with keys that are nowhere but in this memory. Its
 * certificate is put among those that the guest trusts; so whoever has the key
 * can be any host to this one guest, and to nobody else. All leaves share one
 * key, since who has one has the other.
 */
#ifndef HUTCH_HOST_NET_INTERCEPT_CA_H
#define HUTCH_HOST_NET_INTERCEPT_CA_H

#include <openssl/ssl.h>

#include "common/err.h"
#include "host/net/policy/name.h"

#define CA_LEAVES_MAX 64u /* certificates that are kept; then the oldest goes */
#define CA_DAYS       3650
#define CA_LEAF_DAYS  90

struct ca;

/**
 * ca_begin_openssl() - Start OpenSSL without its configuration file
 *
 * In a jail there is no file to be read, and what it says (which protocols, which
 * engines) is not for us. All that use OpenSSL here do this first; it is done
 * once.
 *
 * Return: 0 or -EIO
 */
MUST_CHECK int ca_begin_openssl(struct err *e);

/**
 * ca_new() - Make keys and a certificate
 * @now_s:	Unix time
 *
 * Return: 0; -ENOMEM; -EIO: OpenSSL failed
 */
MUST_CHECK int ca_new(int64_t now_s, struct ca **ret, struct err *e);

/** ca_free() - Keys are wiped. NULL is fine */
void ca_free(struct ca *ca);

/** ca_pem() - Its certificate, for the guest: PEM, lives as long as @ca */
const char *ca_pem(const struct ca *ca);

/** ca_sha256() - The fingerprint of its certificate, in hexadecimal digits */
const char *ca_sha256(const struct ca *ca);

/**
 * ca_leaf() - A certificate for @name
 * @name:	Normal (name.h)
 * @ret:	Borrowed: until the next call
 *
 * Return: 0; -EIO
 */
MUST_CHECK int ca_leaf(struct ca *ca, const char *name, int64_t now_s,
		       X509 **ret, struct err *e);

/** ca_leaf_key() - The key that all leaves have */
EVP_PKEY *ca_leaf_key(const struct ca *ca);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/ca.c - see ca.h */
#include <errno.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include "common/words.h"
#include "host/net/intercept/ca.h"

#define DAY_S       86400
#define SERIAL_BITS 127
#define CN_MAX      64 /* X.520; a longer name is in the extension only */
#define SAN_MAX     (NAME_MAX_LEN + 8)

struct leaf {
	char name[NAME_CAP];
	X509 *cert;
	int64_t made_s;
	uint64_t used;
};

struct ca {
	EVP_PKEY *key;
	EVP_PKEY *leaf_key;
	X509 *cert;
	char *pem;
	char sha256[2 * SHA256_DIGEST_LENGTH + 1];
	uint64_t n_uses;
	size_t n;
	struct leaf leaf[CA_LEAVES_MAX];
};

static int failed(struct err *e, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());
	int r = err_set(e, -EIO, "cannot make %s: %s", what,
			why ? why : "OpenSSL says not why");

	ERR_clear_error();
	return r;
}

/* ---- Certificates ---- */

static bool set_serial(X509 *x)
{
	BIGNUM *bn = BN_new();
	bool ok = bn &&
		  BN_rand(bn, SERIAL_BITS, BN_RAND_TOP_ONE,
			  BN_RAND_BOTTOM_ANY) == 1 &&
		  BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(x));

	BN_free(bn);
	return ok;
}

/* From a day ago: the guest's clock need not be ours. */
static bool set_times(X509 *x, int64_t now_s, int days)
{
	time_t from = (time_t)now_s - DAY_S;
	time_t to = (time_t)now_s + (time_t)days * DAY_S;

	return ASN1_TIME_set(X509_getm_notBefore(x), from) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), to);
}

static bool add_ext(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	bool ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(x, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

static bool set_name(X509_NAME *n, const char *cn)
{
	return X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_UTF8,
					  (const unsigned char *)cn, -1, -1,
					  0) == 1;
}

static X509 *begin(int64_t now_s, int days, EVP_PKEY *key)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
	    set_times(x, now_s, days) && X509_set_pubkey(x, key) == 1)
		return x;
	X509_free(x);
	return NULL;
}

/* pathlen 0: it makes leaves, and no other authority. */
static bool finish_ca(X509 *x, EVP_PKEY *key)
{
	return set_name(X509_get_subject_name(x),
			"hutch, this virtual machine only") &&
	       X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
	       add_ext(x, x, NID_basic_constraints,
		       "critical,CA:TRUE,pathlen:0") &&
	       add_ext(x, x, NID_key_usage, "critical,keyCertSign") &&
	       add_ext(x, x, NID_subject_key_identifier, "hash") &&
	       X509_sign(x, key, EVP_sha256()) > 0;
}

static bool finish_leaf(const struct ca *ca, X509 *x, const char *name)
{
	char san[SAN_MAX];

	(void)snprintf(san, sizeof(san), "critical,DNS:%s", name);
	return (strlen(name) > CN_MAX ||
		set_name(X509_get_subject_name(x), name)) &&
	       X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) == 1 &&
	       add_ext(x, ca->cert, NID_basic_constraints,
		       "critical,CA:FALSE") &&
	       add_ext(x, ca->cert, NID_key_usage,
		       "critical,digitalSignature") &&
	       add_ext(x, ca->cert, NID_ext_key_usage, "serverAuth") &&
	       add_ext(x, ca->cert, NID_subject_alt_name, san) &&
	       add_ext(x, ca->cert, NID_subject_key_identifier, "hash") &&
	       add_ext(x, ca->cert, NID_authority_key_identifier, "keyid") &&
	       X509_sign(x, ca->key, EVP_sha256()) > 0;
}

static char *pem_of(X509 *x)
{
	BIO *b = BIO_new(BIO_s_mem());
	char *data, *pem = NULL;
	long n;

	if (b && PEM_write_bio_X509(b, x) == 1) {
		n = BIO_get_mem_data(b, &data);
		pem = n > 0 ? strndup(data, (size_t)n) : NULL;
	}
	BIO_free(b);
	return pem;
}

static bool fingerprint(X509 *x, char ret[2 * SHA256_DIGEST_LENGTH + 1])
{
	unsigned char md[SHA256_DIGEST_LENGTH];

	if (X509_digest(x, EVP_sha256(), md, NULL) != 1)
		return false;
	words_hex_text(ret, md, sizeof(md));
	return true;
}

/* ---- The authority ---- */

/* Neither its configuration nor anything else is read from a file. */
int ca_begin_openssl(struct err *e)
{
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG |
				     OPENSSL_INIT_NO_ATEXIT,
			     NULL) != 1)
		return err_set(e, -EIO, "OpenSSL does not start");
	return 0;
}

int ca_new(int64_t now_s, struct ca **ret, struct err *e)
{
	struct ca *ca;
	int r = ca_begin_openssl(e);

	if (r < 0)
		return r;
	ca = calloc(1, sizeof(*ca));
	if (!ca)
		return err_set(e, -ENOMEM, "no memory for a CA");
	ca->key = EVP_EC_gen("P-256");
	ca->leaf_key = EVP_EC_gen("P-256");
	if (ca->key && ca->leaf_key)
		ca->cert = begin(now_s, CA_DAYS, ca->key);
	if (ca->cert && finish_ca(ca->cert, ca->key) &&
	    fingerprint(ca->cert, ca->sha256))
		ca->pem = pem_of(ca->cert);
	if (!ca->pem) {
		ca_free(ca);
		return failed(e, "a CA");
	}
	*ret = ca;
	return 0;
}

/* OpenSSL clears what it frees of a private key. */
void ca_free(struct ca *ca)
{
	if (!ca)
		return;
	for (size_t i = 0; i < ca->n; i++)
		X509_free(ca->leaf[i].cert);
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	free(ca->pem);
	free(ca);
}

const char *ca_pem(const struct ca *ca)
{
	return ca->pem;
}

const char *ca_sha256(const struct ca *ca)
{
	return ca->sha256;
}

EVP_PKEY *ca_leaf_key(const struct ca *ca)
{
	return ca->leaf_key;
}

/* ---- Leaves ---- */

/* That of the name, or a free one, or the one that was not used longest. */
static struct leaf *slot(struct ca *ca, const char *name)
{
	struct leaf *oldest = &ca->leaf[0];

	for (size_t i = 0; i < ca->n; i++) {
		if (strcmp(ca->leaf[i].name, name) == 0)
			return &ca->leaf[i];
		if (ca->leaf[i].used < oldest->used)
			oldest = &ca->leaf[i];
	}
	return ca->n < CA_LEAVES_MAX ? &ca->leaf[ca->n++] : oldest;
}

static bool is_fresh(const struct leaf *l, const char *name, int64_t now_s)
{
	const int64_t half = (int64_t)CA_LEAF_DAYS * DAY_S / 2;

	return l->cert && strcmp(l->name, name) == 0 && now_s >= l->made_s &&
	       now_s - l->made_s < half;
}

int ca_leaf(struct ca *ca, const char *name, int64_t now_s, X509 **ret,
	    struct err *e)
{
	struct leaf *l = slot(ca, name);
	X509 *x;

	if (!is_fresh(l, name, now_s)) {
		x = begin(now_s, CA_LEAF_DAYS, ca->leaf_key);
		if (!x || !finish_leaf(ca, x, name)) {
			X509_free(x);
			return failed(e, "a certificate");
		}
		X509_free(l->cert);
		*l = (struct leaf){ .cert = x, .made_s = now_s };
		memcpy(l->name, name, strlen(name) + 1);
	}
	l->used = ++ca->n_uses;
	*ret = l->cert;
	return 0;
}

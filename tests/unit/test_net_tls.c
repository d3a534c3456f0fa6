/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_tls.c - the VM's authority, and TLS over buffers */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "guest-agent/trust.h"
#include "host/net/intercept/tls.h"
#include "tests/lib/check_main.h"

#define NOW 1800000000

static struct ca *new_ca(void)
{
	struct ca *ca = NULL;
	struct err e = { 0 };

	ck_assert_msg(ca_new(NOW, &ca, &e) == 0, "%s", e.msg);
	return ca;
}

static X509 *leaf(struct ca *ca, const char *name, int64_t now)
{
	struct err e = { 0 };
	X509 *x = NULL;

	ck_assert_msg(ca_leaf(ca, name, now, &x, &e) == 0, "%s", e.msg);
	return x;
}

static void expect_fingerprint(X509 *x, const char *text)
{
	unsigned char md[32];
	char want[65];

	ck_assert_int_eq(X509_digest(x, EVP_sha256(), md, NULL), 1);
	for (size_t i = 0; i < sizeof(md); i++)
		(void)snprintf(want + 2 * i, 3, "%02x", md[i]);
	ck_assert_str_eq(text, want);
}

START_TEST(a_leaf_is_of_its_authority_and_name)
{
	struct ca *ca = new_ca();
	BIO *b = BIO_new_mem_buf(ca_pem(ca), -1);
	X509 *root = PEM_read_bio_X509(b, NULL, NULL, NULL);
	X509 *x = leaf(ca, "api.example.org", NOW);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();

	ck_assert_ptr_nonnull(root);
	ck_assert_int_eq(X509_STORE_add_cert(store, root), 1);
	ck_assert_int_eq(X509_STORE_CTX_init(ctx, store, x, NULL), 1);
	X509_STORE_CTX_set_time(ctx, 0, NOW);
	X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_SERVER);
	ck_assert_int_eq(X509_verify_cert(ctx), 1);
	ck_assert_int_eq(X509_check_host(x, "api.example.org", 0, 0, NULL), 1);
	ck_assert_int_eq(X509_check_host(x, "example.org", 0, 0, NULL), 0);
	ck_assert_int_eq(X509_check_ca(x), 0);
	ck_assert_int_eq(X509_check_ca(root), 1);
	ck_assert_int_eq(X509_get_pathlen(root), 0);
	expect_fingerprint(root, ca_sha256(ca));
	/* Nothing but the certificate is given away. */
	ck_assert_ptr_null(strstr(ca_pem(ca), "PRIVATE"));
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(root);
	BIO_free(b);
	ca_free(ca);
	ca_free(NULL);
}
END_TEST

/* A guest's OpenSSL looks for a file of that name. */
START_TEST(the_guest_knows_the_authority_s_hash)
{
	struct ca *ca = new_ca();
	X509 *x = leaf(ca, "a.example.org", NOW);
	char hash[16];

	(void)snprintf(hash, sizeof(hash), "%08lx", X509_issuer_name_hash(x));
	ck_assert_str_eq(hash, TRUST_HASH);
	X509_free(x);
	ca_free(ca);
}
END_TEST

START_TEST(leaves_are_kept_and_bounded)
{
	struct ca *ca = new_ca();
	X509 *first = leaf(ca, "a.org", NOW), *again;
	char name[32];

	X509_up_ref(first);
	ck_assert_ptr_eq(leaf(ca, "a.org", NOW + 1), first);
	/* Half way to its end there is another. */
	again = leaf(ca, "a.org", NOW + CA_LEAF_DAYS * 86400 / 2);
	ck_assert_ptr_ne(again, first);
	ck_assert_int_ne(ASN1_INTEGER_cmp(X509_get_serialNumber(first),
					  X509_get_serialNumber(again)),
			 0);
	X509_free(first);
	first = leaf(ca, "a.org", NOW);
	X509_up_ref(first);
	for (unsigned int i = 0; i < CA_LEAVES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.org", i);
		(void)leaf(ca, name, NOW);
	}
	ck_assert_ptr_ne(leaf(ca, "a.org", NOW), first);
	X509_free(first);
	ca_free(ca);
}
END_TEST

START_TEST(a_long_name_has_a_leaf)
{
	static const char name[] =
		"abcdefghijabcdefghijabcdefghijabcdefghij."
		"abcdefghijabcdefghijabcdefghijabcdefghij.example.org";
	struct ca *ca = new_ca();

	ck_assert_int_eq(X509_check_host(leaf(ca, name, NOW), name, 0, 0, NULL),
			 1);
	ca_free(ca);
}
END_TEST

START_TEST(a_bundle_has_certificates)
{
	struct ca *ca = new_ca();
	struct trust *t = NULL;
	struct err e = { 0 };

	ck_assert_int_eq(trust_new("", 0, &t, &e), -EINVAL);
	ck_assert_int_eq(trust_new("x", 1, &t, &e), -EINVAL);
	ck_assert_int_eq(trust_new(ca_pem(ca), 100, &t, &e), -EINVAL);
	ck_assert_ptr_null(t);
	ck_assert_int_eq(trust_new(ca_pem(ca), strlen(ca_pem(ca)), &t, &e), 0);
	trust_free(t);
	trust_free(NULL);
	ca_free(ca);
}
END_TEST

/* ---- Both ends ---- */

static void carry(struct tls *from, struct tls *to)
{
	const void *p;
	size_t n = MIN(tls_out(from, &p), tls_room(to));

	ck_assert_int_eq(tls_feed(to, p, n), 0);
	tls_sent(from, n);
}

/* Until @from has said all, or one has failed. Return: what @to has read. */
static ptrdiff_t say(struct tls *from, struct tls *to, const char *text,
		     char *buf, size_t cap)
{
	ptrdiff_t w = -EAGAIN, r = -EAGAIN;

	for (int i = 0; i < 20 && r == -EAGAIN; i++) {
		if (w == -EAGAIN)
			w = tls_write(from, text, strlen(text));
		carry(from, to);
		r = tls_read(to, buf, cap);
		carry(to, from);
	}
	return r;
}

static void pair(struct ca *ca, const char *server, const char *client,
		 struct tls **ret_server, struct tls **ret_client)
{
	struct trust *t = NULL;
	struct err e = { 0 };

	ck_assert_int_eq(trust_new(ca_pem(ca), strlen(ca_pem(ca)), &t, &e), 0);
	/* (Certificates are checked against the clock of this machine.) */
	ck_assert_msg(tls_server(ca, server, time(NULL), ret_server, &e) == 0,
		      "%s", e.msg);
	ck_assert_msg(tls_client(t, client, ret_client, &e) == 0, "%s", e.msg);
	trust_free(t);
}

static struct ca *ca_now(void)
{
	struct ca *ca = NULL;

	ck_assert_int_eq(ca_new(time(NULL), &ca, NULL), 0);
	return ca;
}

START_TEST(two_ends_speak)
{
	struct ca *ca = ca_now();
	struct tls *s, *c;
	char buf[100];

	pair(ca, "a.org", "a.org", &s, &c);
	ck_assert_int_eq(tls_read(s, buf, sizeof(buf)), -EAGAIN);
	ck_assert_int_eq(say(c, s, "hello", buf, sizeof(buf)), 5);
	ck_assert_int_eq(memcmp(buf, "hello", 5), 0);
	ck_assert_int_eq(say(s, c, "good day", buf, sizeof(buf)), 8);
	ck_assert_ptr_null(tls_why(s));
	tls_close(c);
	tls_close(c);
	carry(c, s);
	ck_assert_int_eq(tls_read(s, buf, sizeof(buf)), 0);
	tls_free(s);
	tls_free(c);
	tls_free(NULL);
	ca_free(ca);
}
END_TEST

START_TEST(a_server_must_be_whom_we_trust)
{
	struct ca *ca = ca_now(), *other = ca_now();
	struct tls *s, *c, *x;
	char buf[100];

	/* Of another authority. */
	pair(ca, "a.org", "a.org", &x, &c);
	tls_free(x);
	pair(other, "a.org", "a.org", &s, &x);
	tls_free(x);
	ck_assert_int_eq(say(c, s, "SECRET", buf, sizeof(buf)), -EPROTO);
	ck_assert_msg(strstr(tls_why(c), "certificate"), "%s", tls_why(c));
	tls_free(s);
	tls_free(c);
	ca_free(ca);
	ca_free(other);
}
END_TEST

START_TEST(a_name_in_the_handshake_is_the_judged_one)
{
	struct ca *ca = ca_now();
	struct tls *s, *c;
	char buf[100];

	pair(ca, "a.org", "b.org", &s, &c);
	ck_assert_int_eq(say(c, s, "x", buf, sizeof(buf)), -EPROTO);
	ck_assert(tls_why(s) || tls_why(c));
	tls_free(s);
	tls_free(c);
	ca_free(ca);
}
END_TEST

START_TEST(what_waits_is_bounded)
{
	static char big[TLS_BUF_MAX * 4];
	struct ca *ca = ca_now();
	struct tls *s, *c;
	char buf[100];
	const void *p;
	size_t n = 0;
	ptrdiff_t r;

	pair(ca, "a.org", "a.org", &s, &c);
	ck_assert_int_eq(say(c, s, "x", buf, sizeof(buf)), 1);
	while ((r = tls_write(c, big, sizeof(big))) > 0)
		n += (size_t)r;
	ck_assert_int_eq(r, -EAGAIN);
	ck_assert_uint_ge(n, TLS_BUF_MAX / 2);
	ck_assert_uint_le(tls_out(c, &p), TLS_BUF_MAX * 2 + 2000);
	/* Nor does it keep from hearing the other. */
	ck_assert_int_eq(tls_write(s, "y", 1), 1);
	carry(s, c);
	ck_assert_int_eq(tls_read(c, buf, sizeof(buf)), 1);
	carry(c, s);
	ck_assert_uint_eq(tls_room(s), 0);
	tls_free(s);
	tls_free(c);
	ca_free(ca);
}
END_TEST

/* Bytes that @ssl has written, to @to. */
static void carry_raw(SSL *ssl, struct tls *to)
{
	char *p = NULL;
	long n = BIO_get_mem_data(SSL_get_wbio(ssl), &p);

	ck_assert_int_le(n, (long)tls_room(to));
	ck_assert_int_eq(tls_feed(to, p, (size_t)n), 0);
	(void)BIO_reset(SSL_get_wbio(ssl));
}

/* A client of OpenSSL's own, that can do what ours never does. */
static SSL *raw_client(struct tls *s)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	char name[] = "a.org", buf[100];
	const void *p;

	SSL_CTX_free(ctx);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	ck_assert_int_eq(SSL_set_tlsext_host_name(ssl, name), 1);
	SSL_set_connect_state(ssl);
	for (int i = 0; i < 5 && SSL_do_handshake(ssl) != 1; i++) {
		size_t n;

		carry_raw(ssl, s);
		ck_assert_int_eq(tls_read(s, buf, sizeof(buf)), -EAGAIN);
		n = tls_out(s, &p);
		ck_assert_int_eq(BIO_write(SSL_get_rbio(ssl), p, (int)n), n);
		tls_sent(s, n);
	}
	carry_raw(ssl, s);
	ck_assert_int_eq(tls_read(s, buf, sizeof(buf)), -EAGAIN);
	return ssl;
}

/* TLS answers by itself, as often as it is asked to: who never reads the answers
 * is not read from either. */
START_TEST(who_asks_and_does_not_listen_is_left_waiting)
{
	struct ca *ca = ca_now();
	struct tls *s, *c;
	char buf[100];
	const void *p;
	bool full = false;
	SSL *ssl;

	pair(ca, "a.org", "a.org", &s, &c);
	tls_free(c);
	ssl = raw_client(s);
	ck_assert_str_eq(SSL_get_version(ssl), "TLSv1.3");
	for (int i = 0; i < 100000 && !full; i++) {
		ck_assert_int_eq(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED),
				 1);
		ck_assert_int_eq(SSL_do_handshake(ssl), 1);
		full = tls_room(s) < 1000;
		if (full)
			break;
		carry_raw(ssl, s);
		ck_assert_int_eq(tls_read(s, buf, sizeof(buf)), -EAGAIN);
		ck_assert_uint_le(tls_out(s, &p), (size_t)TLS_BUF_MAX * 4);
	}
	ck_assert(full);
	/* Who listens after all is heard again. */
	tls_sent(s, tls_out(s, &p));
	ck_assert_int_eq(tls_read(s, buf, sizeof(buf)), -EAGAIN);
	ck_assert_uint_ge(tls_room(s), 1000);
	SSL_free(ssl);
	tls_free(s);
	ca_free(ca);
}
END_TEST

CHECK_MAIN("net_tls", a_leaf_is_of_its_authority_and_name,
	   the_guest_knows_the_authority_s_hash, leaves_are_kept_and_bounded,
	   a_long_name_has_a_leaf, a_bundle_has_certificates, two_ends_speak,
	   a_server_must_be_whom_we_trust,
	   a_name_in_the_handshake_is_the_judged_one, what_waits_is_bounded,
	   who_asks_and_does_not_listen_is_left_waiting)

/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/tls.c - see tls.h */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "host/net/intercept/tls.h"

#define WHY_MAX 160

/*
 * What is read may ask for an answer of TLS's own, so that there is a bound to it
 * too; a higher one than bytes of ours can reach, since those who have yet to
 * read them may first want to say more.
 */
#define OUT_MAX ((size_t)3 * TLS_BUF_MAX)

static const unsigned char http1[] = {
	8, 'h', 't', 't', 'p', '/', '1', '.', '1'
};

static const unsigned char http2[] = { 2, 'h', '2' };

struct trust {
	SSL_CTX *ctx;
};

/*
 * @ctx is a server's own: it has the leaf's certificate. A client shares that of
 * its trust.
 */
struct tls {
	SSL *ssl;
	BIO *in;
	BIO *out;
	char name[NAME_CAP];
	bool server;
	bool checked;
	bool closed;
	bool no_http1;
	bool wants_h2;
	char why[WHY_MAX];
};

static SSL_CTX *new_ctx(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	return ctx;
}

/* ---- Whom we believe ---- */

static size_t add_certs(X509_STORE *store, BIO *b)
{
	size_t n = 0;
	X509 *x;

	while ((x = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
		n += X509_STORE_add_cert(store, x) == 1;
		X509_free(x);
	}
	ERR_clear_error();
	return n;
}

int trust_new(const char *pem, size_t len, struct trust **ret, struct err *e)
{
	struct trust *t;
	BIO *b;
	size_t n = 0;
	int r = ca_begin_openssl(e);

	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	b = len <= INT_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	if (t)
		t->ctx = new_ctx(TLS_client_method());
	if (t && t->ctx && b)
		n = add_certs(SSL_CTX_get_cert_store(t->ctx), b);
	BIO_free(b);
	if (n == 0) {
		trust_free(t);
		return err_set(e, -EINVAL,
			       "there is no certificate in the bundle of CAs");
	}
	SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
	*ret = t;
	return 0;
}

void trust_free(struct trust *t)
{
	if (t)
		SSL_CTX_free(t->ctx);
	free(t);
}

/* ---- Both ends ---- */

static int no_tls(struct tls *t, struct err *e)
{
	tls_free(t);
	ERR_clear_error();
	return err_set(e, -EIO, "cannot begin TLS");
}

static struct tls *new_tls(SSL_CTX *ctx, const char *name)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	t->ssl = SSL_new(ctx);
	if (!t->in || !t->out || !t->ssl) {
		BIO_free(t->in);
		BIO_free(t->out);
		SSL_free(t->ssl);
		free(t);
		return NULL;
	}
	/* "Empty" is "try again", not the end. */
	BIO_set_mem_eof_return(t->in, -1);
	SSL_set_bio(t->ssl, t->in, t->out);
	return t;
}

/* Whoever offers protocols must offer ours; nobody is told of another. */
static int choose_alpn(SSL *ssl, const unsigned char **out,
		       unsigned char *out_len, const unsigned char *in,
		       unsigned int in_len, void *arg)
{
	struct tls *t = SSL_get_app_data(ssl);

	(void)arg;
	for (unsigned int at = 0; at < in_len; at += 1u + in[at]) {
		t->wants_h2 |= in_len - at >= sizeof(http2) &&
			       memcmp(in + at, http2, sizeof(http2)) == 0;
		if (in[at] != http1[0] || in_len - at < sizeof(http1) ||
		    memcmp(in + at, http1, sizeof(http1)) != 0)
			continue;
		*out = in + at + 1;
		*out_len = http1[0];
		return SSL_TLSEXT_ERR_OK;
	}
	t->no_http1 = true;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int tls_server(struct ca *ca, const char *name, int64_t now_s, struct tls **ret,
	       struct err *e)
{
	SSL_CTX *ctx = new_ctx(TLS_server_method());
	struct tls *t = ctx ? new_tls(ctx, name) : NULL;
	X509 *cert = NULL;

	if (ctx)
		SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
	SSL_CTX_free(ctx); /* (the SSL has a reference) */
	if (!t || ca_leaf(ca, name, now_s, &cert, e) < 0 ||
	    SSL_use_certificate(t->ssl, cert) != 1 ||
	    SSL_use_PrivateKey(t->ssl, ca_leaf_key(ca)) != 1)
		return no_tls(t, e);
	t->server = true;
	SSL_set_app_data(t->ssl, t);
	SSL_set_accept_state(t->ssl);
	*ret = t;
	return 0;
}

int tls_client(struct trust *trust, const char *name, struct tls **ret,
	       struct err *e)
{
	struct tls *t = new_tls(trust->ctx, name);

	if (!t || SSL_set_tlsext_host_name(t->ssl, t->name) != 1 ||
	    SSL_set1_host(t->ssl, name) != 1 ||
	    SSL_set_alpn_protos(t->ssl, http1, sizeof(http1)) != 0)
		return no_tls(t, e);
	SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
					  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	SSL_set_connect_state(t->ssl);
	*ret = t;
	return 0;
}

void tls_free(struct tls *t)
{
	if (t)
		SSL_free(t->ssl); /* and both BIOs */
	free(t);
}

/* ---- Bytes ---- */

size_t tls_room(const struct tls *t)
{
	size_t n = BIO_ctrl_pending(t->in);

	return n < TLS_BUF_MAX ? TLS_BUF_MAX - n : 0;
}

int tls_feed(struct tls *t, const void *bytes, size_t n)
{
	bug_on(n > tls_room(t));
	return n == 0 || BIO_write(t->in, bytes, (int)n) == (int)n ? 0
								   : -ENOMEM;
}

size_t tls_out(const struct tls *t, const void **ret)
{
	char *p = NULL;
	long n = BIO_get_mem_data(t->out, &p);

	*ret = p;
	return n > 0 ? (size_t)n : 0;
}

void tls_sent(struct tls *t, size_t n)
{
	uint8_t skip[4096];

	while (n > 0) {
		int r = BIO_read(t->out, skip, (int)MIN(n, sizeof(skip)));

		bug_on(r <= 0);
		n -= (size_t)r;
	}
}

static int fail(struct tls *t, const char *why)
{
	if (!t->why[0])
		(void)snprintf(t->why, sizeof(t->why), "%s", why);
	ERR_clear_error();
	return -EPROTO;
}

/* What an operation that did not succeed says. */
static int why_not(struct tls *t, int r)
{
	int code = SSL_get_error(t->ssl, r);
	long verify = SSL_get_verify_result(t->ssl);
	const char *reason;

	if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (code == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (t->no_http1 && t->wants_h2)
		return fail(t, "the client insists on HTTP/2 (ALPN h2 alone), "
			       "and only HTTP/1.1 is intercepted");
	if (t->no_http1)
		return fail(t, "the client does not speak HTTP/1.1, only what "
			       "cannot be intercepted");
	if (!t->server && verify != X509_V_OK)
		return fail(t, X509_verify_cert_error_string(verify));
	reason = ERR_reason_error_string(ERR_peek_error());
	return fail(t, reason ? reason : "TLS broke off");
}

static bool is_http1(const SSL *ssl)
{
	const unsigned char *p;
	unsigned int n;

	SSL_get0_alpn_selected(ssl, &p, &n);
	return n == 0 || (n == http1[0] && memcmp(p, http1 + 1, n) == 0);
}

/*
 * Once the handshake is done: the name that OpenSSL has read is that by which
 * the connection was judged, also if there were two ClientHellos.
 */
static int check_handshake(struct tls *t)
{
	const char *sni = SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name);
	char name[NAME_CAP];

	if (t->checked)
		return 0;
	if (t->server && (!sni || name_normal(sni, strlen(sni), name) < 0 ||
			  strcmp(name, t->name) != 0))
		return fail(t, "the name in the handshake is another than the "
			       "one that was judged");
	if (!t->server && !is_http1(t->ssl))
		return fail(t, "the server speaks no HTTP/1.1");
	t->checked = true;
	return 0;
}

static int handshake(struct tls *t)
{
	int r;

	if (t->why[0])
		return -EPROTO;
	if (t->checked)
		return 0;
	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	if (r == 1)
		return check_handshake(t);
	r = why_not(t, r);
	return r == 0 ? fail(t, "it was closed within the handshake") : r;
}

ptrdiff_t tls_read(struct tls *t, void *buf, size_t cap)
{
	int r = handshake(t);

	if (r < 0)
		return r;
	if (BIO_ctrl_pending(t->out) >= OUT_MAX)
		return -EAGAIN;
	ERR_clear_error();
	r = SSL_read(t->ssl, buf, (int)MIN(cap, (size_t)INT_MAX));
	return r > 0 ? r : why_not(t, r);
}

ptrdiff_t tls_write(struct tls *t, const void *buf, size_t n)
{
	int r = handshake(t);

	if (r < 0)
		return r;
	if (BIO_ctrl_pending(t->out) >= TLS_BUF_MAX)
		return -EAGAIN;
	ERR_clear_error();
	r = SSL_write(t->ssl, buf, (int)MIN(n, (size_t)TLS_BUF_MAX));
	if (r > 0)
		return r;
	r = why_not(t, r);
	return r == 0 ? fail(t, "it was closed") : r;
}

void tls_close(struct tls *t)
{
	if (t->closed || t->why[0] || !t->checked)
		return;
	t->closed = true;
	(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
}

bool tls_is_up(const struct tls *t)
{
	return t->checked;
}

const char *tls_why(const struct tls *t)
{
	return t->why[0] ? t->why : NULL;
}

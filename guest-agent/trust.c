/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/trust.c - see trust.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "guest-agent/trust.h"
#include "guest-agent/truststore.h"

/* The first is what adds to others. */
static const char *const variables[TRUST_ENV] = {
	"NODE_EXTRA_CA_CERTS=" TRUST_CA,    "SSL_CERT_FILE=" TRUST_BUNDLE,
	"REQUESTS_CA_BUNDLE=" TRUST_BUNDLE, "GIT_SSL_CAINFO=" TRUST_BUNDLE,
	"CURL_CA_BUNDLE=" TRUST_BUNDLE,
};

/* Of Debian and Alpine, Fedora, OpenSUSE. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/*
 * Where update-ca-certificates(8) and its like look, if the image has it; and
 * OpenSSL, which knows one by its name.
 */
static const char *const anchors[] = {
	"/usr/local/share/ca-certificates/hutch.crt",
	"/etc/pki/ca-trust/source/anchors/hutch.pem",
	"/etc/ssl/certs/" TRUST_HASH ".0",
};

bool trust_is_on(const struct msg_boot *m)
{
	return m->flags & WIRE_BOOT_NET && m->net.ca && *m->net.ca;
}

/* In place of whatever has the name, a link too. */
static int put(const char *path, const char *a, const char *b)
{
	auto_fd int fd = -1;
	int r;

	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0644);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, a, strlen(a));
	return r < 0 ? r : io_write_full(fd, b, strlen(b));
}

static int cannot_write(struct err *e, int r, const char *path)
{
	return err_set(e, r, "network: write '%s': %s", path, strerror(-r));
}

static int put_below(const char *root, const char *name, const char *a,
		     const char *b, struct err *e)
{
	char path[PATH_MAX];
	int r;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	r = put(path, a, b);
	return r < 0 ? cannot_write(e, r, path) : 0;
}

/* Of the first that is there. Return: the caller's; "" if none is */
static char *own_bundle(const char *root)
{
	char path[PATH_MAX], *text = NULL;

	for (size_t i = 0; !text && i < ARRAY_LEN(bundles); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, bundles[i]);
		text = truststore_read(path);
	}
	return text ? text : strdup("");
}

static int add_below(const char *root, const char *name, const char *ca,
		     struct err *e)
{
	char path[PATH_MAX];
	int r;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	r = truststore_add(path, ca);
	return r < 0 ? cannot_write(e, r, path) : 0;
}

/* The file that "SSL_CERT_FILE=/x" and its like name; NULL: it is none such. */
static const char *named_by(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		size_t len = strcspn(variables[i], "=") + 1;

		if (strncmp(word, variables[i], len) == 0 && word[len] == '/')
			return word + len;
	}
	return NULL;
}

/* What goes by no variable of ours goes by these. */
static int add_to_stores(const char *root, const struct msg_boot *m,
			 struct err *e)
{
	const char *name;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(bundles); i++)
		r = add_below(root, bundles[i], m->net.ca, e);
	for (uint32_t i = 0; r == 0 && i < m->envc; i++) {
		name = named_by(m->env[i]);
		if (name)
			r = add_below(root, name, m->net.ca, e);
	}
	return r;
}

int trust_write(const char *root, const struct msg_boot *m, struct err *e)
{
	auto_free char *own = own_bundle(root);
	const char *ca = m->net.ca;
	char path[PATH_MAX];
	int r;

	if (!own)
		return err_set(e, -ENOMEM, "no memory");
	(void)snprintf(path, sizeof(path), "%s/etc/ssl", root);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(e, -errno, "network: make folder '%s': %s", path,
			       strerror(errno));
	r = put_below(root, TRUST_CA, ca, "", e);
	r = r < 0 ? r : put_below(root, TRUST_BUNDLE, ca, own, e);
	r = r < 0 ? r : add_to_stores(root, m, e);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(anchors); i++) {
		struct err ignored;

		/* An image without such a folder has no use for it. */
		if (put_below(root, anchors[i], ca, "", &ignored) < 0)
			continue;
	}
	return r < 0 ? r : *own != '\0';
}

int trust_variables(struct msg_boot *m, bool whole)
{
	const uint32_t n = whole ? TRUST_ENV : 1;
	const char **v = calloc((size_t)n + m->envc + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		v[i] = variables[i];
	for (uint32_t i = 0; i < m->envc; i++)
		v[n + i] = m->env[i];
	m->env = v;
	m->envc += n;
	return 0;
}

int trust_set_up(struct msg_boot *m, struct err *e)
{
	int r = trust_write("", m, e);

	if (r < 0)
		return r;
	return trust_variables(m, r > 0) < 0 ? err_set(e, -ENOMEM, "no memory")
					     : 0;
}

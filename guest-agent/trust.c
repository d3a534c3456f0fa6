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

/* The first is what adds to others. */
static const char *const variables[TRUST_ENV] = {
	"NODE_EXTRA_CA_CERTS=" TRUST_CA,    "SSL_CERT_FILE=" TRUST_BUNDLE,
	"REQUESTS_CA_BUNDLE=" TRUST_BUNDLE, "GIT_SSL_CAINFO=" TRUST_BUNDLE,
	"CURL_CA_BUNDLE=" TRUST_BUNDLE,
};

/* Of Debian and Alpine, Fedora, OpenSUSE; the first that is there. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* Where update-ca-certificates(8) and its like look, if the image has it. */
static const char *const anchors[] = {
	"/usr/local/share/ca-certificates/hutch.crt",
	"/etc/pki/ca-trust/source/anchors/hutch.pem",
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

static int put_below(const char *root, const char *name, const char *a,
		     const char *b, struct err *e)
{
	char path[PATH_MAX];
	int r;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	r = put(path, a, b);
	return r < 0 ? err_set(e, r, "network: write '%s': %s", path,
			       strerror(-r))
		     : 0;
}

/* Return: the caller's; "" if there is none that can be read. */
static char *own_bundle(const char *root)
{
	for (size_t i = 0; i < ARRAY_LEN(bundles); i++) {
		char path[PATH_MAX], *text = NULL;
		struct stat st;
		struct err ignored;

		(void)snprintf(path, sizeof(path), "%s%s", root, bundles[i]);
		/* A FIFO would hold us up. */
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    io_read_file(AT_FDCWD, path, TRUST_BUNDLE_MAX, &text, NULL,
				 &ignored) == 0)
			return text;
	}
	return strdup("");
}

int trust_write(const char *root, const char *ca, struct err *e)
{
	auto_free char *own = own_bundle(root);
	char path[PATH_MAX];
	int r;

	if (!own)
		return err_set(e, -ENOMEM, "no memory");
	(void)snprintf(path, sizeof(path), "%s/etc/ssl", root);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(e, -errno, "network: make folder '%s': %s", path,
			       strerror(errno));
	r = put_below(root, TRUST_CA, ca, "", e);
	if (r == 0)
		r = put_below(root, TRUST_BUNDLE, ca, own, e);
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
	int r = trust_write("", m->net.ca, e);

	if (r < 0)
		return r;
	return trust_variables(m, r > 0) < 0 ? err_set(e, -ENOMEM, "no memory")
					     : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/pull.c - see pull.h */
#include <errno.h>
#include <string.h>

#include "common/io.h"
#include "host/image/fetch.h"
#include "host/image/pull.h"
#include "host/image/sha.h"
#include "host/image/source.h"
#include "host/lib/imageinfo.h"
#include "host/lib/record.h"

/** struct pulling - One pull under way */
struct pulling {
	const struct make_opts *o;
	const struct pull *p;
	struct registry reg;
	struct make m;
	char id[HUTCH_IMAGE_ID_LEN + 1];
};

/* ---- Credentials ---- */

static int read_secret(int fd, char *buf, size_t cap, size_t *ret_len,
		       struct err *e)
{
	ssize_t n = io_read_full(fd, buf, cap);

	if (n < 0)
		return err_set(e, (int)n, "cannot read the credentials: %s",
			       strerror((int)-n));
	if ((size_t)n == cap)
		return err_set(e, -E2BIG, "the credentials are too long");
	buf[n] = '\0';
	*ret_len = (size_t)n;
	return 0;
}

static int from_docker(const struct pulling *pl, char *user, struct err *e)
{
	auto_free char *buf = malloc(AUTH_CONFIG_MAX + 1u);
	bool helper = false;
	size_t len = 0;
	int r;

	if (!buf)
		return err_set(e, -ENOMEM, "no memory");
	r = read_secret(pl->p->secret_fd, buf, AUTH_CONFIG_MAX + 1u, &len, e);
	r = r < 0 ? r
		  : auth_docker(buf, len, pl->p->ref.domain, user, &helper, e);
	explicit_bzero(buf, AUTH_CONFIG_MAX + 1u);
	if (r == 0 && helper)
		report_note(pl->o->rp,
			    "Docker has its credentials from a helper program, "
			    "which hutch does not run: if %s wants some, give "
			    "them by --creds",
			    pl->p->ref.domain);
	return r;
}

static int open_registry(struct pulling *pl, struct err *e)
{
	char user[AUTH_USER_MAX + 2] = "";
	size_t len = 0;
	int r = 0;

	if (pl->p->secret == PULL_SECRET_USER)
		r = read_secret(pl->p->secret_fd, user, sizeof(user) - 1, &len,
				e);
	else if (pl->p->secret == PULL_SECRET_DOCKER)
		r = from_docker(pl, user, e);
	r = r < 0 ? r
		  : registry_open(&pl->reg, &pl->p->ref, user, pl->p->idle_s,
				  e);
	explicit_bzero(user, sizeof(user));
	return r;
}

/* ---- The image ---- */

/* Down the indexes to the manifest. */
static int find_manifest(struct pulling *pl, char **ret, size_t *ret_len,
			 char *digest, struct err *e)
{
	const struct imageref *ref = &pl->p->ref;
	const char *what = ref->digest[0] ? ref->digest
			   : ref->tag[0]  ? ref->tag
					  : "latest";
	auto_free char *doc = NULL;
	struct oci_desc d;
	size_t len = 0;
	int r = 0;

	for (int i = 0; i <= OCI_DEPTH_MAX; i++) {
		free(take_ptr(&doc));
		r = fetch_manifest(&pl->reg, what, &doc, &len, digest, e);
		if (r < 0)
			return r;
		if (!oci_is_index(doc, len)) {
			*ret = take_ptr(&doc);
			*ret_len = len;
			return 0;
		}
		r = oci_pick(doc, len, NULL, true, &d, e);
		if (r < 0)
			return err_wrap(e, r, "index");
		what = d.digest;
	}
	return err_set(e, -E2BIG, "its indexes are more than %d deep",
		       OCI_DEPTH_MAX);
}

static int check_sizes(const struct pulling *pl, const struct oci_manifest *m,
		       struct err *e)
{
	uint64_t left = pl->o->max_bytes;

	for (size_t i = 0; i < m->n; i++) {
		if (m->layer[i].size > left)
			return err_set(e, -E2BIG,
				       "its layers have more than %llu bytes",
				       (unsigned long long)pl->o->max_bytes);
		left -= m->layer[i].size;
	}
	return 0;
}

static int get_layers(struct pulling *pl, const struct oci_manifest *m,
		      const struct hutch_image_info *info, struct err *e)
{
	size_t n = 0;
	int r = check_sizes(pl, m, e);

	while (info->layers && info->layers[n])
		n++;
	if (r == 0 && n != m->n)
		return err_set(e, -EBADMSG,
			       "its configuration speaks of %zu layers, its "
			       "manifest of %zu",
			       n, m->n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct oci_desc *d = &m->layer[i];
		auto_fd int fd =
			fetch_blob(&pl->reg, pl->o->store, d, pl->o->rp, e);
		const struct make_blob b = { fd, d->digest, d->digest,
					     info->layers[i] };

		r = fd < 0 ? fd : make_layer(&pl->m, &b, NULL, e);
		/* Room that was missing may be there the next time. */
		if (fd >= 0 && (r == 0 || r == -EBADMSG || r == -EPERM))
			fetch_forget(pl->o->store, d);
	}
	return r;
}

static int get_image(struct pulling *pl, const struct oci_manifest *m,
		     const char *digest, struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *info = NULL;
	auto_free char *doc = NULL;
	size_t len = 0;
	int r = fetch_document(&pl->reg, &m->config, &doc, &len, e);

	if (r == 0)
		r = source_check(&m->config, doc, len, e);
	if (r < 0)
		return r;
	r = oci_config(doc, len, &info, e);
	if (r < 0)
		return err_wrap(e, r, "configuration");
	sha_of(doc, len, pl->id);
	if (make_is_there(pl->o, pl->id))
		return make_name(pl->o, pl->id, e);
	if (record_set(&info->id, pl->id) < 0 ||
	    record_set(&info->manifest, digest) < 0)
		return err_set(e, -ENOMEM, "no memory");
	r = get_layers(pl, m, info, e);
	return r < 0 ? r : make_commit(&pl->m, info, e);
}

static int pull(struct pulling *pl, struct err *e)
{
	auto_free struct oci_manifest *m = calloc(1, sizeof(*m));
	char digest[IMAGEREF_DIGEST_LEN + 1];
	auto_free char *doc = NULL;
	size_t len = 0;
	int r;

	if (!m)
		return err_set(e, -ENOMEM, "no memory");
	r = find_manifest(pl, &doc, &len, digest, e);
	if (r < 0)
		return r;
	r = oci_manifest(doc, len, m, e);
	if (r < 0)
		return err_wrap(e, r, "manifest %s", digest);
	return get_image(pl, m, digest, e);
}

int pull_run(const struct make_opts *o, const struct pull *p,
	     char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e)
{
	struct pulling *pl = calloc(1, sizeof(*pl));
	int r;

	if (!pl)
		return err_set(e, -ENOMEM, "no memory");
	pl->o = o;
	pl->p = p;
	pl->m.o = o;
	pl->m.stage = (struct stage)STAGE_INIT;
	pl->m.tree_fd = -1;
	r = open_registry(pl, e);
	r = r < 0 ? r : make_begin(o, &pl->m, e);
	r = r < 0 ? r : pull(pl, e);
	make_end(&pl->m);
	registry_close(&pl->reg);
	if (r == 0)
		memcpy(ret_id, pl->id, sizeof(pl->id));
	free(pl);
	return r;
}

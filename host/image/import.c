/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/import.c - see import.h
 *
 * How it works.  A file is unpacked as if it were the root itself.  If what
 * comes out is a layout or an archive of docker save, it was one, and the image
 * is made from it as from a folder.  So the format is known by what is there,
 * never by a name, and a stranger's tar is taken apart in one place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "host/image/dpkg.h"
#include "host/image/import.h"
#include "host/image/oci.h"
#include "host/image/sha.h"
#include "host/image/source.h"
#include "host/lib/imageinfo.h"
#include "host/lib/record.h"

#define SPOOL "spool" /* in the stage: what came through a pipe */

/**
 * struct import - One import
 * @config:	Of what was built: the "config" of its configuration; or NULL
 */
struct import {
	const struct make_opts *o;
	const char *pick;
	const char *config;
	struct make m;
	char id[HUTCH_IMAGE_ID_LEN + 1];
};

static int layer_count(const struct hutch_image_info *info, size_t n,
		       struct err *e)
{
	size_t want = 0;

	while (info->layers && info->layers[want])
		want++;
	if (want == n)
		return 0;
	return err_set(e, -EBADMSG,
		       "its configuration speaks of %zu layers, its manifest "
		       "of %zu",
		       want, n);
}

/* Sets the id of what has this configuration. Return: 1 if it is there. */
static int know_id(struct import *im, const char *json, size_t len,
		   struct hutch_image_info *info, struct err *e)
{
	sha_of(json, len, im->id);
	if (record_set(&info->id, im->id) < 0)
		return err_set(e, -ENOMEM, "no memory");
	return make_is_there(im->o, im->id);
}

/* ---- OCI layout ---- */

/* Down the indexes to the manifest, whose bytes are left in @ret. */
static int find_manifest(struct import *im, const struct source *s,
			 struct oci_desc *d, char **ret, size_t *ret_len,
			 struct err *e)
{
	auto_free char *doc = NULL;
	const char *pick = im->pick;
	size_t len = 0;
	int r = source_read(s, "index.json", &doc, &len, e);

	for (int i = 0; r == 0 && i < OCI_DEPTH_MAX; i++) {
		/* Names are the outermost's. */
		r = oci_pick(doc, len, pick, i > 0, d, e);
		pick = NULL;
		free(take_ptr(&doc));
		r = r < 0 ? r : source_read_blob(s, d, &doc, &len, e);
		if (r == 0 && !oci_is_index(doc, len)) {
			*ret = take_ptr(&doc);
			*ret_len = len;
			return 0;
		}
	}
	return r < 0 ? r
		     : err_set(e, -E2BIG, "its indexes are more than %d deep",
			       OCI_DEPTH_MAX);
}

static int layout_layers(struct import *im, const struct source *s,
			 const struct oci_manifest *man,
			 const struct hutch_image_info *info, struct err *e)
{
	int r = layer_count(info, man->n, e);

	for (size_t i = 0; r == 0 && i < man->n; i++) {
		auto_fd int fd = source_open_blob(s, &man->layer[i], e);

		r = fd < 0 ? fd
			   : make_layer(&im->m,
					&(struct make_blob){
						fd, man->layer[i].digest,
						man->layer[i].digest,
						info->layers[i] },
					NULL, e);
	}
	return r;
}

static int from_manifest(struct import *im, const struct source *s,
			 const struct oci_desc *d,
			 const struct oci_manifest *man, struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *info = NULL;
	auto_free char *doc = NULL;
	size_t len = 0;
	int r = source_read_blob(s, &man->config, &doc, &len, e);

	r = r < 0 ? r : oci_config(doc, len, &info, e);
	if (r < 0)
		return err_wrap(e, r, "configuration");
	r = know_id(im, doc, len, info, e);
	if (r == 1)
		return make_name(im->o, im->id, e);
	if (r == 0 && record_set(&info->manifest, d->digest) < 0)
		r = err_set(e, -ENOMEM, "no memory");
	r = r < 0 ? r : layout_layers(im, s, man, info, e);
	return r < 0 ? r : make_commit(&im->m, info, e);
}

static int from_layout(struct import *im, const struct source *s, struct err *e)
{
	auto_free struct oci_manifest *man = calloc(1, sizeof(*man));
	auto_free char *doc = NULL;
	struct oci_desc d;
	size_t len = 0;
	int r;

	if (!man)
		return err_set(e, -ENOMEM, "no memory");
	r = find_manifest(im, s, &d, &doc, &len, e);
	if (r < 0)
		return err_wrap(e, r, "OCI layout");
	r = oci_manifest(doc, len, man, e);
	if (r < 0)
		return err_wrap(e, r, "manifest %s", d.digest);
	return from_manifest(im, s, &d, man, e);
}

/* ---- docker save ---- */

static int saved_layers(struct import *im, const struct source *s,
			const struct oci_saved *sv,
			const struct hutch_image_info *info, struct err *e)
{
	size_t n = 0;
	int r;

	while (sv->layers && sv->layers[n])
		n++;
	r = layer_count(info, n, e);
	for (size_t i = 0; r == 0 && i < n; i++) {
		auto_fd int fd = source_open(s, sv->layers[i], e);

		r = fd < 0 ? fd
			   : make_layer(&im->m,
					&(struct make_blob){
						fd, info->layers[i], NULL,
						info->layers[i] },
					NULL, e);
	}
	return r;
}

static int from_saved_image(struct import *im, const struct source *s,
			    const struct oci_saved *sv, struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *info = NULL;
	auto_free char *doc = NULL;
	size_t len = 0;
	int r = source_read(s, sv->config, &doc, &len, e);

	r = r < 0 ? r : oci_config(doc, len, &info, e);
	if (r < 0)
		return err_wrap(e, r, "configuration");
	r = know_id(im, doc, len, info, e);
	if (r == 1)
		return make_name(im->o, im->id, e);
	r = r < 0 ? r : saved_layers(im, s, sv, info, e);
	return r < 0 ? r : make_commit(&im->m, info, e);
}

static int from_saved(struct import *im, const struct source *s, struct err *e)
{
	struct oci_saved sv = { 0 };
	auto_free char *doc = NULL;
	size_t len = 0;
	int r = source_read(s, "manifest.json", &doc, &len, e);

	r = r < 0 ? r : oci_saved(doc, len, im->pick, &sv, e);
	if (r < 0)
		return err_wrap(e, r, "archive of docker save");
	r = from_saved_image(im, s, &sv, e);
	oci_saved_done(&sv);
	return r;
}

/* ---- A plain root ---- */

/* What was built has a list of what it was built of. */
static int add_packages(const struct import *im, struct hutch_image_info *info,
			struct err *e)
{
	const struct source s = { .fd = im->m.tree_fd, .mapped = true };
	auto_free char *status = NULL;
	size_t len = 0;
	int r = source_read(&s, DPKG_STATUS, &status, &len, e);

	r = r < 0 ? r : dpkg_list(status, len, &info->packages, e);
	return r < 0 ? err_wrap(e, r, DPKG_STATUS) : 0;
}

/* It has no configuration, so it gets one, of which its id is made. */
static int from_root(struct import *im, const char *plain, struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *info = NULL;
	auto_free char *doc = NULL;
	int r, n = asprintf(&doc,
			    "{\"architecture\":\"%s\",\"config\":%s,"
			    "\"os\":\"linux\",\"rootfs\":{\"diff_ids\":"
			    "[\"sha256:%s\"],\"type\":\"layers\"}}",
			    oci_arch(), im->config ? im->config : "{}", plain);

	if (n < 0) {
		doc = NULL;
		return err_set(e, -ENOMEM, "no memory");
	}
	if (im->pick)
		return err_set(e, -ENOENT,
			       "it is a plain root: there are no images in it "
			       "to pick from");
	if (im->m.entries == 0)
		return err_set(e, -EBADMSG, "there is nothing in it");
	r = oci_config(doc, (size_t)n, &info, e);
	r = r < 0 ? r : know_id(im, doc, (size_t)n, info, e);
	if (r == 1)
		return make_name(im->o, im->id, e);
	if (r == 0 && im->config)
		r = add_packages(im, info, e);
	return r < 0 ? r : make_commit(&im->m, info, e);
}

/* ---- Which of them ---- */

static bool is_layout(const struct source *s)
{
	return source_has(s, "oci-layout") && source_has(s, "index.json");
}

/* A root may well have a manifest.json of some other kind. */
static bool is_saved(const struct source *s)
{
	auto_free char *doc = NULL;
	size_t len = 0;
	int r = source_read(s, "manifest.json", &doc, &len, NULL);

	return r == -E2BIG || (r == 0 && oci_is_saved(doc, len));
}

static int from_folder(struct import *im, int fd, struct err *e)
{
	const struct source s = { .fd = fd };

	if (is_layout(&s))
		return from_layout(im, &s, e);
	if (is_saved(&s))
		return from_saved(im, &s, e);
	return err_set(e, -EBADMSG,
		       "the folder is no OCI layout (oci-layout, index.json, "
		       "blobs): a root must be packed with tar");
}

static int from_file(struct import *im, int fd, struct err *e)
{
	struct unpack_result res;
	struct source s = { .fd = im->m.tree_fd, .mapped = true };
	auto_fd int outer = -1;
	bool layout, saved;
	int r = make_layer(&im->m,
			   &(struct make_blob){ fd, "archive", NULL, NULL },
			   &res, e);

	if (r < 0)
		return r;
	layout = !im->config && is_layout(&s);
	saved = !im->config && !layout && is_saved(&s);
	if (!layout && !saved)
		return from_root(im, res.plain, e);
	outer = fcntl(im->m.tree_fd, F_DUPFD_CLOEXEC, 3);
	if (outer < 0)
		return err_set(e, -errno, "%s", strerror(errno));
	s.fd = outer;
	r = make_new_tree(&im->m, e);
	if (r < 0)
		return r;
	return layout ? from_layout(im, &s, e) : from_saved(im, &s, e);
}

/* ---- Something to read to its end ---- */

static int copy(int from, int to, uint64_t max, struct err *e)
{
	char buf[65536];
	uint64_t all = 0;
	ssize_t n;
	int r;

	while ((n = io_read_full(from, buf, sizeof(buf))) > 0) {
		if ((uint64_t)n > max - all)
			return err_set(e, -E2BIG, "it has more than %llu bytes",
				       (unsigned long long)max);
		all += (uint64_t)n;
		r = io_write_full(to, buf, (size_t)n);
		if (r < 0)
			return err_set(e, r, "cannot keep it: %s",
				       strerror(-r));
	}
	return n < 0 ? err_set(e, (int)n, "cannot read it: %s",
			       strerror((int)-n))
		     : 0;
}

static int from_pipe(struct import *im, int fd, struct err *e)
{
	auto_fd int spool = openat(im->m.stage.fd, SPOOL,
				   O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (spool < 0)
		return err_set(e, -errno, "cannot make a file: %s",
			       strerror(errno));
	r = copy(fd, spool, im->o->max_bytes, e);
	if (r < 0)
		return r;
	if (unlinkat(im->m.stage.fd, SPOOL, 0) < 0)
		return err_set(e, -errno, "cannot unlink a file: %s",
			       strerror(errno));
	return from_file(im, spool, e);
}

static int from_any(struct import *im, int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return from_folder(im, fd, e);
	if (S_ISREG(st.st_mode))
		return from_file(im, fd, e);
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return from_pipe(im, fd, e);
	return err_set(e, -EINVAL, "it is neither a file nor a folder");
}

static int run(struct import *im, int src_fd,
	       char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e)
{
	int r = make_begin(im->o, &im->m, e);

	r = r < 0 ? r : from_any(im, src_fd, e);
	make_end(&im->m);
	if (r < 0)
		return r;
	memcpy(ret_id, im->id, sizeof(im->id));
	return 0;
}

int import_run(const struct make_opts *o, int src_fd, const char *pick,
	       char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e)
{
	struct import im = { .o = o, .pick = pick };

	return run(&im, src_fd, ret_id, e);
}

int import_build(const struct make_opts *o, int src_fd, const char *config,
		 char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e)
{
	struct import im = { .o = o, .config = config };

	return run(&im, src_fd, ret_id, e);
}

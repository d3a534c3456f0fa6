/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_image.c - an image's documents and names
 *
 * Input: one byte says which parser; the rest is the document.  What is taken
 * is as it may be: digests are digests, and what is written of it is read back.
 */
#include <string.h>

#include "host/image/auth.h"
#include "host/image/dpkg.h"
#include "host/image/oci.h"
#include "host/lib/imageinfo.h"
#include "host/lib/imageref.h"
#include "host/lib/imagework.h"
#include "host/lib/record.h"
#include "tests/fuzz/fuzz.h"

#define IN_MAX 65536u
#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check_desc(const struct oci_desc *d)
{
	bug_on(!imageref_digest_ok(d->digest));
	bug_on(strlen(d->media) > OCI_MEDIA_MAX);
}

static void try_index(const char *s, size_t len)
{
	struct oci_desc d;
	struct err e = { 0 };

	if (oci_pick(s, len, NULL, true, &d, &e) == 0)
		check_desc(&d);
	else
		bug_on(!e.msg[0]);
	if (oci_pick(s, len, "v1", false, &d, &e) == 0)
		check_desc(&d);
	(void)oci_is_index(s, len);
}

static void try_manifest(const char *s, size_t len)
{
	struct oci_manifest *m = calloc(1, sizeof(*m));
	struct err e = { 0 };

	bug_on(!m);
	if (oci_manifest(s, len, m, &e) == 0) {
		bug_on(m->n > HUTCH_IMAGE_LAYERS_MAX);
		check_desc(&m->config);
		for (size_t i = 0; i < m->n; i++)
			check_desc(&m->layer[i]);
	}
	free(m);
}

static void check_back(struct hutch_image_info *i)
{
	struct hutch_image_info *back = NULL;
	char *json = hutch_image_json(i);
	struct err e = { 0 };

	bug_on(!json);
	bug_on(imageinfo_parse(json, strlen(json), &back, &e) < 0);
	bug_on(strcmp(i->workdir, back->workdir) != 0);
	bug_on(!i->env != !back->env || !i->labels != !back->labels);
	hutch_image_info_free(back);
	free(json);
}

static void try_config(const char *s, size_t len)
{
	struct hutch_image_info *i = NULL;
	struct err e = { 0 };

	if (oci_config(s, len, &i, &e) < 0) {
		bug_on(i || !e.msg[0]);
		return;
	}
	bug_on(record_set(&i->id, HEX) < 0);
	check_back(i);
	hutch_image_info_free(i);
}

static void try_saved(const char *s, size_t len)
{
	struct oci_saved sv = { 0 };

	if (oci_saved(s, len, NULL, &sv, NULL) == 0)
		bug_on(!*sv.config);
	oci_saved_done(&sv);
}

static void try_info(const char *s, size_t len)
{
	struct hutch_image_info *i = NULL;

	if (imageinfo_parse(s, len, &i, NULL) < 0)
		return;
	check_back(i);
	hutch_image_info_free(i);
}

static void try_ref(const char *s)
{
	char text[HUTCH_IMAGE_REF_MAX + 1], again[HUTCH_IMAGE_REF_MAX + 1];
	struct imageref r, back;

	if (imageref_parse(s, &r, NULL) < 0)
		return;
	bug_on(imageref_text(&r, text, NULL) < 0);
	bug_on(strchr(text, '+') || strstr(text, ".."));
	bug_on(imageref_parse(text, &back, NULL) < 0);
	bug_on(imageref_text(&back, again, NULL) < 0);
	bug_on(strcmp(text, again) != 0);
	if (imageref_expand(&r, NULL) >= 0)
		bug_on(!r.domain[0] || imageref_text(&r, text, NULL) < 0);
}

static void try_auth(const char *s)
{
	struct auth a;
	struct err e = { 0 };

	if (auth_parse(s, &a, &e) < 0) {
		bug_on(!e.msg[0]);
		return;
	}
	bug_on(a.kind == AUTH_NONE || (a.kind == AUTH_BEARER && !a.realm[0]));
	bug_on(!imagework_clean(a.realm) || !imagework_clean(a.service) ||
	       !imagework_clean(a.scope));
}

static void try_secrets(const char *s, size_t len)
{
	char user[AUTH_USER_MAX + 1], token[AUTH_TOKEN_MAX + 1];
	bool helper;

	if (auth_docker(s, len, "h.x:1", user, &helper, NULL) == 0)
		bug_on(user[0] && !strchr(user, ':'));
	if (auth_token(s, len, token, NULL) == 0)
		bug_on(!token[0] || strchr(token, ' ') || strchr(token, '\n'));
}

static void try_dpkg(const char *s, size_t len)
{
	const char *const *list = NULL;
	struct err e = { 0 };

	if (dpkg_list(s, len, &list, &e) < 0) {
		bug_on(list || !e.msg[0]);
		return;
	}
	for (size_t i = 0; list[i]; i++) {
		bug_on(!strchr(list[i], ':') || !strchr(list[i], '='));
		bug_on(!imagework_clean(list[i]) || strchr(list[i], ' '));
		bug_on(i && strcmp(list[i - 1], list[i]) > 0);
	}
	record_drop_list(list);
}

static void try_line(char *s)
{
	static const struct imagework w;
	char id[HUTCH_IMAGE_ID_LEN + 1] = "";
	struct err e = { 0 };
	int r = imagework_line(&w, s, id, &e);

	bug_on(r == 1 && !imageref_id_ok(id));
	bug_on(r < 0 && !imagework_clean(e.msg));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *s;

	if (len < 1 || len > IN_MAX)
		return 0;
	/* Of exact size for those that count, with a NUL for the others. */
	s = malloc(len);
	bug_on(!s);
	memcpy(s, data + 1, len - 1);
	s[len - 1] = '\0';
	switch (data[0]) {
	case 'i':
		try_index((const char *)data + 1, len - 1);
		break;
	case 'm':
		try_manifest((const char *)data + 1, len - 1);
		break;
	case 'c':
		try_config((const char *)data + 1, len - 1);
		break;
	case 's':
		try_saved((const char *)data + 1, len - 1);
		break;
	case 'j':
		try_info((const char *)data + 1, len - 1);
		break;
	case 'r':
		try_ref(s);
		break;
	case 'a':
		try_auth(s);
		break;
	case 't':
		try_secrets((const char *)data + 1, len - 1);
		break;
	case 'd':
		try_dpkg((const char *)data + 1, len - 1);
		break;
	case 'l':
		try_line(s);
		break;
	default:
		break;
	}
	free(s);
	return 0;
}

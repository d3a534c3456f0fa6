/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_image.c - hutch image: and what its verbs share */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/image.h"
#include "host/cli/show.h"
#include "host/cli/text.h"

#define TEXT_COLS  40
#define TEXT_BYTES 200

static const struct opt image_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

void image_progress_begin(struct image_progress *p)
{
	p->tty = isatty(STDERR_FILENO) == 1;
	p->shown = false;
}

static void wipe(struct image_progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = false;
}

void image_progress_step(void *arg, enum hutch_image_step step,
			 const char *text, uint64_t done, uint64_t total)
{
	struct image_progress *p = arg;
	char what[TEXT_BYTES], n[SHOW_MAX], of[SHOW_MAX];

	if (step == HUTCH_IMAGE_STEP_NOTE) {
		wipe(p);
		cli_warn("%s", text);
		return;
	}
	if (!p->tty)
		return;
	(void)text_show(what, sizeof(what), text, TEXT_COLS);
	show_size(n, done);
	show_size(of, total);
	wipe(p);
	(void)fprintf(stderr, "%s %s: %s%s%s",
		      step == HUTCH_IMAGE_STEP_FETCH ? "fetching" : "unpacking",
		      what, n, total ? " of " : "", total ? of : "");
	p->shown = true;
}

void image_progress_end(struct image_progress *p)
{
	wipe(p);
}

int image_read_limits(const char *size, const char *files, uint64_t *bytes,
		      uint64_t *entries, struct hutch_err *e)
{
	int r = 0;

	if (size)
		r = hutch_parse_size("--max-size", size, bytes, e);
	if (r == 0 && files)
		r = hutch_parse_uint("--max-files", files, 1, UINT32_MAX,
				     entries, e);
	return r;
}

static void put(struct jsonw *j, const char *text)
{
	jsonw_raw(j, NULL, text);
}

int image_print_json(struct hutch_image_info *const *list)
{
	struct jsonw j = cli_json();
	int r = 0;

	jsonw_array(&j, NULL);
	for (; *list && r == 0; list++) {
		AUTO_FREE char *text = hutch_image_json(*list);

		if (text)
			put(&j, text);
		else
			r = -ENOMEM;
	}
	jsonw_array_end(&j);
	return r;
}

int image_print_made(const struct cli *c, const char *name,
		     const struct hutch_image_info *info)
{
	AUTO_FREE char *text = c->json ? hutch_image_json(info) : NULL;
	struct jsonw j = cli_json();

	if (c->json && !text)
		return cli_usage(c, "image: out of memory");
	if (text)
		put(&j, text);
	else
		(void)printf("%s\n", name);
	return 0;
}

static int cmd_image(struct cli *c, const void *opts, const struct opt_words *w)
{
	(void)opts;
	return cli_no_sub(c, &verb_image, opt_word(w, 0));
}

static const struct verb *const subs[] = {
	&verb_image_pull,    &verb_image_import,
	&verb_image_build,   &verb_image_list,
	&verb_image_inspect, &verb_image_rm,
	&verb_image_prune,   NULL,
};

const struct verb verb_image = {
	.name = "image",
	.args = "VERB [OPTIONS] ...",
	.summary = "take in, build, list and remove images",
	.help = "Keeps images: roots, with what is to run in them. An image "
		"has any number of\nnames, HOST/PATH:TAG as with Docker, and "
		"an id, of which the first digits will\ndo. hutch help image "
		"VERB tells more about one.\n",
	.rules = { .table = image_opts },
	.opts_size = sizeof(struct cli_common),
	.max = OPT_WORDS_ANY,
	.run = cmd_image,
	.subs = subs,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image_inspect.c - hutch image inspect: all about an image */
#include <stdint.h>
#include <stdio.h>

#include "host/cli/image.h"
#include "host/cli/show.h"
#include "host/cli/text.h"

#define LINE_BYTES 4096
#define TIME_BYTES 32

static const struct opt inspect_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/* What an image says of itself may hold anything. */
static void line(const char *key, const char *value)
{
	char shown[LINE_BYTES];

	if (!value || !*value)
		return;
	(void)text_show(shown, sizeof(shown), value, SIZE_MAX);
	(void)printf("%-11s %s\n", key, shown);
}

static void lines(const char *key, const char *const *v)
{
	for (; v && *v; v++)
		line(key, *v);
}

/* Too many for people; --json has them. */
static void count(const char *key, const char *const *v)
{
	char n[SHOW_MAX];
	size_t i = 0;

	while (v && v[i])
		i++;
	(void)snprintf(n, sizeof(n), "%zu", i);
	line(key, v ? n : NULL);
}

static void command_line(const char *key, const char *const *argv)
{
	AUTO_FREE char *text = argv ? text_join(argv) : NULL;

	line(key, text);
}

static void print_image(const struct hutch_image_info *i)
{
	char buf[TIME_BYTES], bytes[SHOW_MAX], n[SHOW_MAX];

	line("id", i->id);
	lines("name", i->names);
	line("manifest", i->manifest);
	(void)snprintf(buf, sizeof(buf), "%.10s/%.16s", i->os, i->arch);
	line("platform", buf);
	line("created", hutch_time_text(i->created_ns, buf, sizeof(buf)));
	show_size(bytes, i->bytes);
	line("size", bytes);
	(void)snprintf(n, sizeof(n), "%llu", (unsigned long long)i->entries);
	line("entries", n);
	lines("layer", i->layers);
	command_line("entrypoint", i->entrypoint);
	command_line("cmd", i->cmd);
	lines("env", i->env);
	line("workdir", i->workdir);
	line("user", i->user);
	line("stop-signal", i->stop_signal);
	lines("volume", i->volumes);
	lines("label", i->labels);
	count("packages", i->packages);
}

static int print_images(const struct cli *c,
			struct hutch_image_info *const *list)
{
	if (c->json)
		return image_print_json(list);
	for (size_t n = 0; list[n]; n++) {
		if (n)
			(void)putchar('\n');
		print_image(list[n]);
	}
	return 0;
}

static int cmd_inspect(struct cli *c, const void *opts,
		       const struct opt_words *w)
{
	struct hutch_image_info **list =
		calloc(w->n + w->n_rest + 1, sizeof(struct hutch_image_info *));
	struct hutch_err e = { 0 };
	int r = cli_open(c), failed = 0;
	size_t n = 0;

	(void)opts;
	for (size_t i = 0; list && opt_word(w, i) && r == 0; i++) {
		if (hutch_image_inspect(c->h, opt_word(w, i), &list[n], &e) ==
		    0) {
			n++;
			continue;
		}
		cli_warn("%s", e.msg);
		failed = CLI_EXIT_FAILED;
	}
	if (!list || (r == 0 && print_images(c, list) < 0))
		r = cli_usage(c, "image inspect: out of memory");
	hutch_image_list_free(list);
	return r ? r : failed;
}

const struct verb verb_image_inspect = {
	.name = "image inspect",
	.alias = "image show",
	.args = "[OPTIONS] NAME...",
	.summary = "print all that is known about an image",
	.rules = { .table = inspect_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_inspect,
};

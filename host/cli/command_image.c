/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/command_image.c - the image of run and start: found, or pulled */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/command.h"
#include "host/cli/image.h"
#include "host/cli/text.h"

#define QUOTE_MAX  80
#define QUOTE_COLS 60

static int pull(struct cli *c, const char *ref, struct hutch_image **ret)
{
	struct hutch_image_info *info = NULL;
	struct hutch_image_pull_opts po = HUTCH_IMAGE_PULL_OPTS_INIT;
	struct hutch_err e = { 0 };
	int r;

	po.ref = ref;
	r = image_take(c, &po, &info);
	/* By its id: another one may have the name without the host. */
	if (r == 0 && hutch_image_open(c->h, info->id, ret, &e) < 0)
		r = cli_fail(c, &e);
	hutch_image_info_free(info);
	return r;
}

static int open_image(struct cli *c, const char *ref, enum command_pull when,
		      struct hutch_image **ret)
{
	struct hutch_err e = { 0 };
	char q[QUOTE_MAX];
	int r = when == COMMAND_PULL_ALWAYS
			? -ENOENT
			: hutch_image_open(c->h, ref, ret, &e);

	if (r == -ENOENT && when != COMMAND_PULL_NEVER &&
	    hutch_image_ref_ok(ref)) {
		(void)text_show(q, sizeof(q), ref, QUOTE_COLS);
		cli_warn("%s image '%s'",
			 when == COMMAND_PULL_ALWAYS ? "pulling"
						     : "not here yet: pulling",
			 q);
		return pull(c, ref, ret);
	}
	return r < 0 ? cli_fail(c, &e) : 0;
}

/*
 * The VM that had this name last goes on as its record says: by its name alone, or
 * on its disk with another command, as that may be all that somebody has.
 */
static int open_old(struct cli *c, const char *name, bool alone,
		    struct command *cmd)
{
	struct hutch_record *rec = NULL;
	struct hutch_err e = { 0 };
	int r = hutch_inspect(c->h, name, &rec, &e);

	/* No such VM, or no such name: whoever starts it says more. */
	if (r < 0)
		return 0;
	if (rec->state != HUTCH_STATE_STOPPED ||
	    (!alone && rec->disk != HUTCH_DISK_KEPT)) {
		hutch_record_free(rec);
		return 0;
	}
	cmd->old = rec;
	if (rec->disk == HUTCH_DISK_NONE)
		return 0;
	r = hutch_image_open(c->h, rec->image_id, &cmd->image, &e);
	return r < 0 ? cli_fail(c, &e) : 0;
}

static int no_image(const struct cli *c, const struct command_opts *o)
{
	if (o->entrypoint)
		return cli_usage(c,
				 "--entrypoint is for images: write hutch "
				 "%s IMAGE",
				 c->verb->name);
	if (o->image_dax)
		return cli_usage(c, "--image-dax is for images");
	if (o->disk)
		return cli_usage(c, "--disk is for images: without one all is "
				    "in memory");
	return 0;
}

static bool same(const char *const *a, const char *const *b)
{
	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return !*a && !*b;
}

int command_image(struct cli *c, const struct command_opts *o,
		  const char *const *rest, bool dashes, const char *name,
		  struct command *cmd)
{
	const char *ref = dashes ? NULL : rest[0];
	struct hutch_err e = { 0 };
	int r = 0;

	if (ref) {
		rest += rest[1] && !strcmp(rest[1], "--") ? 2 : 1;
		r = open_image(c, ref, cmd->pull, &cmd->image);
	} else if (name) {
		r = open_old(c, name, !*rest, cmd);
	}
	cmd->argv = rest;
	if (r != 0)
		return r;
	if (!cmd->image) {
		if (!*rest && cmd->old && cmd->old->argv)
			cmd->argv = cmd->old->argv;
		return no_image(c, o);
	}
	if (hutch_image_command(cmd->image, o->entrypoint, rest,
				&cmd->image_argv, &e) < 0)
		return cli_fail(c, &e);
	cmd->argv = cmd->image_argv;
	cmd->image_says = !*rest && !o->entrypoint;
	if (cmd->image_says && cmd->old && cmd->old->argv &&
	    !same(cmd->old->argv, cmd->argv)) {
		cmd->argv = cmd->old->argv;
		cmd->image_says = false;
	}
	return 0;
}

void command_image_done(struct command *cmd)
{
	void *p;

	memcpy(&p, &cmd->image_argv, sizeof(p));
	free(p);
	hutch_image_close(cmd->image);
	hutch_record_free(cmd->old);
}

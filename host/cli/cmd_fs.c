/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_fs.c - hutch fs: files of a VM, without a program in it */
#include "host/cli/fs.h"

static const struct opt fs_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_fs(struct cli *c, const void *opts, const struct opt_words *w)
{
	(void)opts;
	return cli_no_sub(c, &verb_fs, opt_word(w, 0));
}

static const struct verb *const subs[] = {
	&verb_fs_ls,   &verb_fs_cat,   &verb_fs_write,
	&verb_fs_stat, &verb_fs_mkdir, &verb_fs_rm,
	&verb_fs_mv,   &verb_fs_watch, NULL,
};

const struct verb verb_fs = {
	.name = "fs",
	.args = "VERB [OPTIONS] NAME ...",
	.summary = "look at files of a VM and change them",
	.help = "Looks at files of VM NAME and changes them, with no "
		"program of the VM's needed.\nA PATH is the VM's: "
		"absolute, or from where its commands start. What Linux "
		"says\nto it in the VM is told as it is, and the exit code "
		"is then 1.\n\n"
		"  hutch fs ls -l web /srv\n"
		"  echo hello | hutch fs write --atomic web /srv/index.html\n",
	.rules = { .table = fs_opts },
	.opts_size = sizeof(struct cli_common),
	.max = OPT_WORDS_ANY,
	.run = cmd_fs,
	.subs = subs,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_version.c - hutch version */
#include "host/cli/cli.h"

static const struct opt version_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_version(struct cli *c, const void *opts,
		       const struct opt_words *w)
{
	struct jsonw j = cli_json();

	(void)opts;
	(void)w;
	if (!c->json) {
		(void)printf("hutch %s\n", hutch_version());
		return 0;
	}
	jsonw_object(&j, NULL);
	jsonw_str(&j, "version", hutch_version());
	jsonw_object_end(&j);
	return 0;
}

const struct verb verb_version = {
	.name = "version",
	.args = "",
	.summary = "print the version",
	.rules = { .table = version_opts },
	.opts_size = sizeof(struct cli_common),
	.run = cmd_version,
};

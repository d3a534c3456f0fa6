/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_forward.c - hutch forward: ports of the host that lead to a VM */
#include "host/cli/cli.h"
#include "host/cli/forward.h"
#include "host/cli/names.h"

struct forward_opts {
	struct cli_common common;
	bool rm;
};

static const struct opt forward_opts[] = {
	{ "rm", 0, OPT_FLAG, offsetof(struct forward_opts, rm), NULL,
	  "listen no more at [HOST:]PORT" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/* One or all. */
static void print_one(const struct hutch_forward *f)
{
	char place[FORWARD_PLACE_MAX];

	(void)printf("%s -> %u\n", forward_place(f, place), f->guest_port);
}

static int list_all(struct cli *c, const char *name)
{
	struct hutch_record *rec = NULL;
	struct hutch_err e = { 0 };
	const struct hutch_forward *const *v;
	struct jsonw j;

	if (hutch_inspect(c->h, name, &rec, &e) < 0)
		return cli_fail(c, &e);
	v = rec->forwards;
	if (c->json) {
		j = cli_json();
		jsonw_array(&j, NULL);
	}
	for (; v && *v; v++) {
		if (c->json)
			forward_json(&j, *v);
		else
			print_one(*v);
	}
	if (c->json)
		jsonw_array_end(&j);
	hutch_record_free(rec);
	return 0;
}

/* What was added before a failure stays, and is told. */
static int add_all(struct cli *c, const struct opt_words *w)
{
	struct hutch_err e = { 0 };
	struct forward_one one;
	struct jsonw j = { 0 };
	unsigned int port = 0;
	int r = 0;

	for (size_t i = 1; r == 0 && opt_word(w, i); i++) {
		r = forward_read("forward", opt_word(w, i), false, &one, &e);
		if (r == 0)
			r = hutch_forward_add(c->h, opt_word(w, 0), &one.f,
					      &port, &e);
		if (r < 0)
			break;
		one.f.port = port;
		if (!c->json) {
			print_one(&one.f);
			continue;
		}
		if (!j.out) {
			j = cli_json();
			jsonw_array(&j, NULL);
		}
		forward_json(&j, &one.f);
	}
	if (j.out)
		jsonw_array_end(&j);
	if (r < 0 && j.out)
		cli_warn("%s", e.msg);
	else if (r < 0)
		return cli_fail(c, &e);
	return r < 0 ? CLI_EXIT_FAILED : 0;
}

static int remove_one(struct cli *c, const char *word, const void *arg,
		      struct hutch_err *e)
{
	struct forward_one one;
	int r = forward_read("forward --rm", word, true, &one, e);

	return r < 0 ? r : hutch_forward_remove(c->h, arg, &one.f, e);
}

static int cmd_forward(struct cli *c, const void *opts,
		       const struct opt_words *w)
{
	const struct forward_opts *o = opts;
	int r;

	if (o->rm)
		return opt_word(w, 1)
			       ? names_each(c, w, 1, remove_one, opt_word(w, 0))
			       : cli_usage(c,
					   "forward --rm needs a [HOST:]PORT");
	r = cli_open(c);
	if (r != 0)
		return r;
	return opt_word(w, 1) ? add_all(c, w) : list_all(c, opt_word(w, 0));
}

const struct verb verb_forward = {
	.name = "forward",
	.args = "[OPTIONS] NAME [[HOST:]PORT:GUEST_PORT...]\n"
		"       hutch forward --rm NAME [HOST:]PORT...",
	.summary = "have ports of this host lead to ports of a VM",
	.help = "Listens at PORT of this host, and what connects there "
		"reaches TCP port\nGUEST_PORT of VM NAME, on its loopback "
		"addresses: no network is needed in it.\nHOST is an IP address "
		"(127.0.0.1), one of IPv6 in brackets; with PORT 0 a free\none is "
		"taken and printed. If nobody listens in the VM a connection is "
		"reset at\nonce. Without a port it lists what there is; all of it "
		"ends with the VM.\n\n"
		"  hutch forward web 8080:80\n"
		"  hutch forward --rm web 8080\n",
	.rules = { .table = forward_opts },
	.opts_size = sizeof(struct forward_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_forward,
};

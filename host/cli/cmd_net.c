/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_net.c - hutch net: show, set, log */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/event.h"
#include "host/cli/netopt.h"

static const struct opt plain_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_show(struct cli *c, const void *opts, const struct opt_words *w)
{
	AUTO_FREE char *json = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	(void)opts;
	if (r != 0)
		return r;
	if (hutch_net_show(c->h, opt_word(w, 0), &json, &e) < 0)
		return cli_fail(c, &e);
	(void)printf("%s\n", json);
	return 0;
}

static const struct verb verb_show_ = {
	.name = "net show",
	.args = "[OPTIONS] NAME",
	.summary = "print the policy of a VM's network, and what it did",
	.help = "Prints one JSON document: each rule with how often it decided, "
		"and what goes on.\n",
	.rules = { .table = plain_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 1,
	.max = 1,
	.run = cmd_show,
};

struct set_opts {
	struct cli_common common;
	const char *net;
	struct opt_list rules;
	bool cut;
};

static const struct opt set_opts[] = {
	{ "net", 0, OPT_STR, offsetof(struct set_opts, net), "NET",
	  "none, internet, or a file with a policy" },
	{ "allow", 0, OPT_NAMED, offsetof(struct set_opts, rules),
	  "HOST[:PORT]", "let the VM connect there" },
	{ "deny", 0, OPT_NAMED, offsetof(struct set_opts, rules), "HOST[:PORT]",
	  "do not, whatever a later rule says" },
	{ "inject", 0, OPT_NAMED, offsetof(struct set_opts, rules), "RULE",
	  "'HOST[/PATH] HEADER=VALUE' for requests to HOST" },
	{ "handler", 0, OPT_NAMED, offsetof(struct set_opts, rules),
	  "HOST=PATH", "answer requests to HOST by a Unix socket" },
	{ "cut", 0, OPT_FLAG, offsetof(struct set_opts, cut), NULL,
	  "end connections that are not allowed any more" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/* What a word alone stands for; NULL: there is none, or it stands for no policy. */
static const char *policy_of(const struct netopt *p)
{
	if (p->policy || !p->net)
		return p->policy;
	if (strcmp(p->net, "none") == 0)
		return "{\"rules\":[]}";
	if (strcmp(p->net, "internet") == 0)
		return "{\"rules\":[{\"allow\":\"internet\"}]}";
	return NULL;
}

static int set(struct cli *c, const char *name, const struct set_opts *o,
	       const struct netopt *p)
{
	struct hutch_err e = { 0 };
	const char *policy = policy_of(p);
	int r;

	if (p->net && strchr(p->net, ','))
		return cli_usage(c, "net set: what stands behind the network's "
				    "name cannot change while it runs");
	if (!policy)
		return cli_usage(c, "net set wants --net none, --net internet, "
				    "--net FILE, --allow, --deny, --inject or "
				    "--handler");
	r = cli_open(c);
	if (r != 0)
		return r;
	if (p->warning.code)
		cli_warn("%s", p->warning.msg);
	if (hutch_net_set(c->h, name, policy, o->cut ? HUTCH_NET_CUT : 0, &e) <
	    0)
		return cli_fail(c, &e);
	return 0;
}

static int cmd_set(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct set_opts *o = opts;
	struct hutch_err e = { 0 };
	struct netopt p;
	int r = netopt_parse(o->net, &o->rules, &p, &e);

	r = r < 0 ? cli_fail(c, &e) : set(c, opt_word(w, 0), o, &p);
	netopt_done(&p);
	return r;
}

static const struct verb verb_set_ = {
	.name = "net set",
	.args = "[OPTIONS] NAME",
	.summary = "replace the policy of a VM that runs",
	.help = "The new policy is all there is from then on. Connections that "
		"are there go on\nunless --cut is given.\n\n"
		"  hutch net set --allow api.example.org:443 box\n"
		"  hutch net set --cut --net policy.json box\n",
	.rules = { .table = set_opts },
	.opts_size = sizeof(struct set_opts),
	.min = 1,
	.max = 1,
	.run = cmd_set,
};

/* ---- log ---- */

static bool is_net(const struct hutch_vm_event *ev)
{
	return strncmp(ev->kind, "net-", 4) == 0;
}

static void put_line(const struct cli *c, const struct hutch_vm_event *ev)
{
	struct jsonw j = { .out = stdout };
	char when[64];

	(void)hutch_time_text(ev->time_ns, when, sizeof(when));
	if (!c->json) {
		(void)printf("%s %s %s\n", when, ev->kind, ev->text);
		return;
	}
	jsonw_object(&j, NULL);
	jsonw_str(&j, "time", when);
	jsonw_str(&j, "event", ev->kind);
	jsonw_str(&j, "text", ev->text);
	event_put_denial(&j, ev);
	jsonw_object_end(&j);
}

static int cmd_log(struct cli *c, const void *opts, const struct opt_words *w)
{
	struct hutch_events *events = NULL;
	struct hutch_vm_event ev;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	(void)opts;
	if (r != 0)
		return r;
	if (hutch_events_open(c->h, opt_word(w, 0), 0, &events, &e) < 0)
		return cli_fail(c, &e);
	while ((r = hutch_events_next(events, &ev, &e)) > 0)
		if (is_net(&ev))
			put_line(c, &ev);
	hutch_events_close(events);
	return r < 0 && r != -ENODATA ? cli_fail(c, &e) : 0;
}

static const struct verb verb_log_ = {
	.name = "net log",
	.args = "[OPTIONS] NAME",
	.summary = "print what a VM's network has refused",
	.help = "A line for each denial, or for several alike, and for the end of "
		"the network\nitself: these are events too, and hutch events -f "
		"goes on as they happen.\n",
	.rules = { .table = plain_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 1,
	.max = 1,
	.run = cmd_log,
};

static int cmd_net(struct cli *c, const void *opts, const struct opt_words *w)
{
	(void)opts;
	return cli_no_sub(c, &verb_net, opt_word(w, 0));
}

static const struct verb *const subs[] = {
	&verb_show_,
	&verb_set_,
	&verb_log_,
	NULL,
};

const struct verb verb_net = {
	.name = "net",
	.args = "VERB [OPTIONS] ...",
	.summary = "show and change what a VM may reach",
	.help = "For VMs whose network has a policy, from run and start with "
		"--net internet,\n--net FILE or --allow. The language of policies "
		"is in docs/network-policy.md.\n",
	.rules = { .table = plain_opts },
	.opts_size = sizeof(struct cli_common),
	.max = OPT_WORDS_ANY,
	.subs = subs,
	.run = cmd_net,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cli.c - see cli.h: from the words to a verb, and out again */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/text.h"

#define QUOTE_MAX 80
#define SUBS_MAX  16

static const struct verb *const verbs[] = {
	&verb_run,     &verb_start,   &verb_exec,  &verb_ps,
	&verb_attach,  &verb_logs,    &verb_wait,  &verb_kill,
	&verb_drop,    &verb_stop,    &verb_list,  &verb_inspect,
	&verb_events,  &verb_rm,      &verb_cp,    &verb_fs,
	&verb_backup,  &verb_restore, &verb_image, &verb_volume,
	&verb_forward, &verb_ports,   &verb_net,   &verb_doctor,
	&verb_version, &verb_help,
};

/* What people try who come from elsewhere. */
static const struct {
	const char *theirs, *ours;
} foreign[] = {
	{ "create", "start" },
	{ "delete", "rm" },
	{ "remove", "rm" },
	{ "shell", "exec" },
	{ "show", "inspect" },
	{ "info", "doctor" },
	{ "top", "ps" },
	{ "signal", "kill" },
	{ "images", "image list" },
	{ "copy", "cp" },
	{ "ls", "fs ls" },
	{ "cat", "fs cat" },
	{ "import", "image import" },
	{ "load", "image import" },
	{ "pull", "image pull" },
	{ "rmi", "image rm" },
	{ "port", "ports" },
	{ "publish", "forward" },
};

int cli_open(struct cli *c)
{
	struct hutch_err e = { 0 };

	if (c->h || hutch_open(NULL, &c->h, &e) == 0)
		return 0;
	return cli_fail(c, &e);
}

const struct verb *cli_find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		const struct verb *v = verbs[i];

		if (!strcmp(v->name, name) ||
		    (v->alias && !strcmp(v->alias, name)))
			return v;
	}
	return NULL;
}

/* "list" of "image list". */
static const char *sub_word(const char *name)
{
	const char *space = strrchr(name, ' ');

	return space ? space + 1 : name;
}

const struct verb *cli_find_sub(const struct verb *v, const char *name)
{
	for (size_t i = 0; v->subs && v->subs[i]; i++) {
		const struct verb *s = v->subs[i];

		if (!strcmp(sub_word(s->name), name) ||
		    (s->alias && !strcmp(sub_word(s->alias), name)))
			return s;
	}
	return NULL;
}

static const char *suggest_sub(const struct verb *v, const char *name)
{
	const char *names[SUBS_MAX + 1] = { NULL }, *near;

	for (size_t i = 0; v->subs && v->subs[i] && i < SUBS_MAX; i++)
		names[i] = sub_word(v->subs[i]->name);
	near = text_near(name, names);
	return near ? cli_find_sub(v, near)->name : NULL;
}

int cli_no_sub(const struct cli *c, const struct verb *v, const char *name)
{
	char q[QUOTE_MAX];
	const char *near;

	if (!name)
		return cli_usage(c,
				 "%s needs to know what to do: hutch %s "
				 "--help lists it",
				 v->name, v->name);
	(void)text_show(q, sizeof(q), name, 60);
	near = suggest_sub(v, name);
	if (near)
		return cli_usage(c,
				 "unknown verb '%s %s': did you mean "
				 "'hutch %s'?",
				 v->name, q, near);
	return cli_usage(c, "unknown verb '%s %s': hutch %s --help lists them",
			 v->name, q, v->name);
}

const char *cli_suggest_verb(const char *name)
{
	const char *names[ARRAY_LEN(verbs) + 1] = { NULL };

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		if (!strcmp(foreign[i].theirs, name))
			return foreign[i].ours;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		names[i] = verbs[i]->name;
	return text_near(name, names);
}

static void print_subs_help(const struct verb *v, FILE *out)
{
	(void)fprintf(out, "Usage: hutch %s %s\n\n%s", v->name, v->args,
		      v->help);
	for (size_t i = 0; v->subs[i]; i++) {
		(void)fprintf(out, "\nhutch %s %s\n", v->subs[i]->name,
			      v->subs[i]->args);
		opt_print_help(v->subs[i]->rules.table, out);
	}
}

static void print_verb_help(const struct verb *v, FILE *out)
{
	if (v->subs) {
		print_subs_help(v, out);
		return;
	}
	(void)fprintf(out, "Usage: hutch %s %s\n\n%s", v->name, v->args,
		      v->help ? v->help : "");
	if (!v->help)
		(void)fprintf(out, "Does this: %s.\n", v->summary);
	if (v->alias)
		(void)fprintf(out, "\nAlso written: hutch %s\n", v->alias);
	(void)fputs("\nOptions:\n", out);
	opt_print_help(v->rules.table, out);
}

void cli_print_help(const struct verb *v, FILE *out)
{
	if (v) {
		print_verb_help(v, out);
		return;
	}
	(void)fputs(
		"Usage: hutch VERB [OPTIONS] ...\n\n"
		"Runs commands, each in a Linux virtual machine of its "
		"own.\n\n"
		"  hutch run -- sh -c 'uname -a'      a new VM for one "
		"command\n"
		"  hutch start web                    a VM that stays\n"
		"  hutch exec -it web -- sh           a shell in it\n"
		"  hutch exec -d web -- httpd -f      a process that stays\n"
		"  hutch doctor                       what this machine "
		"lacks\n\n"
		"Verbs:\n",
		out);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		(void)fprintf(out, "  %-10s %s\n", verbs[i]->name,
			      verbs[i]->summary);
	(void)fputs("\nhutch VERB --help tells more about one; man hutch "
		    "about all.\n",
		    out);
}

static int check_words(const struct cli *c, const struct opt_words *w)
{
	const struct verb *v = c->verb;
	size_t n = w->n + w->n_rest;
	char q[QUOTE_MAX];

	/* Verbs that end in a command count their words themselves. */
	if (v->rules.command)
		return 0;
	if (n < v->min)
		return cli_usage(c, "%s needs more words: hutch %s %s", v->name,
				 v->name, v->args);
	if (n > v->max) {
		(void)text_show(q, sizeof(q), opt_word(w, v->max), 60);
		return cli_usage(c, "'%s' is one word too many: hutch %s %s", q,
				 v->name, v->args);
	}
	return 0;
}

static void free_lists(const struct opt *o, void *opts)
{
	for (; o->kind != OPT_NONE; o++) {
		if (o->kind == OPT_LIST || o->kind == OPT_NAMED)
			opt_list_done((void *)((char *)opts + o->off));
	}
}

/*
 * What cannot be parsed may still ask for its error in JSON. A guess, as an
 * option behind the mistake could be the command's: good enough for an error.
 */
static bool wants_json(const char *const *argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++) {
		if (!strcmp(*argv, "--json"))
			return true;
	}
	return false;
}

static int run_verb(struct cli *c, const char *const *argv)
{
	const struct verb *v = c->verb;
	struct cli_common *opts = calloc(1, v->opts_size);
	struct opt_words w = { 0 };
	int r;

	if (!opts)
		return cli_usage(c, "out of memory");
	r = opt_parse(&v->rules, argv, opts, &w);
	if (r < 0) {
		c->json = c->json || wants_json(argv);
		r = cli_usage(c, "%s: %s", v->name,
			      r == -ENOMEM ? "out of memory" : w.why);
		goto out;
	}
	c->json = c->json || opts->json;
	if (opts->help) {
		cli_print_help(v, stdout);
		goto out;
	}
	r = check_words(c, &w);
	if (r == 0)
		r = v->run(c, opts, &w);
out:
	opt_words_done(&w);
	free_lists(v->rules.table, opts);
	free(opts);
	hutch_close(c->h);
	return r;
}

/* A library's socket must never land where output is expected. */
static int open_std_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return fd < 0 ? CLI_EXIT_FAILED : 0;
}

static int no_verb(const struct cli *c, const char *word)
{
	const char *near = cli_suggest_verb(word);
	char q[QUOTE_MAX];

	(void)text_show(q, sizeof(q), word, 60);
	if (word[0] == '-')
		return cli_usage(c,
				 "unknown option '%s': hutch --help "
				 "lists verbs and options",
				 q);
	if (near)
		return cli_usage(c,
				 "unknown verb '%s': did you mean "
				 "'hutch %s'?",
				 q, near);
	return cli_usage(c, "unknown verb '%s': hutch --help lists them", q);
}

static int dispatch(struct cli *c, const char *const *argv)
{
	if (*argv && !strcmp(*argv, "--json")) {
		c->json = true;
		argv++;
	}
	if (!*argv) {
		cli_print_help(NULL, stderr);
		return CLI_EXIT_FAILED;
	}
	if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
		c->verb = &verb_help;
	else if (!strcmp(*argv, "--version"))
		c->verb = &verb_version;
	else
		c->verb = cli_find_verb(*argv);
	if (!c->verb)
		return no_verb(c, *argv);
	if (c->verb->subs && argv[1] && cli_find_sub(c->verb, argv[1]))
		c->verb = cli_find_sub(c->verb, *++argv);
	return run_verb(c, argv + 1);
}

int cli_main(int argc, char *const *argv)
{
	struct cli c = { 0 };
	int r = open_std_fds();

	/* For wcwidth() alone: numbers and messages stay as they are. */
	(void)setlocale(LC_CTYPE, "");
	if (r == 0)
		r = dispatch(&c, (const char *const *)argv + (argc > 0));
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_warn("cannot write to standard output: %s",
			 strerror(errno));
		r = r ? r : CLI_EXIT_FAILED;
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/conform/main.c - whether a file system keeps the rules of POSIX
 *
 *	conform [--kind KIND] [--sample N] DIR [PATTERN...]
 *						try them, or each N-th, in DIR
 *	conform --list [PATTERN...]		their names
 *	conform --differs			what differs where, as Markdown
 *
 * Runs as root, since rules are about several users. A rule is called SET/NAME,
 * and PATTERN is a shell pattern of that or of SET. KIND is what docs say of
 * the file system of DIR: a rule that differs there has to fail, one that does
 * not has to hold. Prints a line for each that is not so, with what was wanted
 * and what came, and a summary. Ends with 1 if there was one, 2 if nothing
 * could be tried.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conform/conform.h"

#define FULL_NAME 128u

static const struct rules *const sets[] = {
	&access_set,  &chmod_set,   &chown_set,    &create_set,  &hole_set,
	&link_set,    &lock_set,    &map_set,      &mkdir_set,   &mknod_set,
	&open_set,    &readdir_set, &rename_set,   &rename2_set, &rmdir_set,
	&symlink_set, &tmpfile_set, &truncate_set, &unlink_set,  &utimensat_set,
	&write_set,   &xattr_set,
};

/**
 * struct run - What was asked for, and what came of it
 * @kind:	NULL: of a file system of which nothing is said
 * @sample:	Of so many that are asked for, the first
 * @place:	NULL: print names
 * @asked_for:	By their names, so far
 */
struct run {
	const char *kind;
	unsigned int sample;
	char **pattern;
	int n_patterns;
	struct place *place;
	unsigned int asked_for;
	unsigned int held;
	unsigned int differed;
	unsigned int wrong;
};

static bool asked_for(const struct run *r, const char *set, const char *name)
{
	for (int i = 0; i < r->n_patterns; i++)
		if (fnmatch(r->pattern[i], name, 0) == 0 ||
		    fnmatch(r->pattern[i], set, 0) == 0)
			return true;
	return r->n_patterns == 0;
}

static bool wanted(struct run *r, const char *set, const char *name)
{
	return asked_for(r, set, name) && r->asked_for++ % r->sample == 0;
}

static void judge(struct run *r, const struct rule *rule, const struct op *op,
		  const char *name)
{
	const struct difference *d = difference_of(r->kind, name, rule->needs);
	char report[REPORT_MAX];
	bool held = rule_run(r->place, rule, op, report);

	if (held && (!d || d->now_and_then)) {
		r->held++;
	} else if (!held && d &&
		   (!d->now_and_then || strstr(report, d->now_and_then))) {
		r->differed++;
	} else if (held) {
		r->wrong++;
		(void)printf("not ok %s: holds, though it is said to differ: "
			     "%s\n",
			     name, d->reason);
	} else {
		r->wrong++;
		(void)printf("not ok %s: %s\n", name, report);
	}
	(void)fflush(stdout);
}

static void each(struct run *r, const char *set, const struct rules *rules,
		 const struct op *op)
{
	char name[FULL_NAME];

	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->rule[i];

		if (op && !rule->applies(op))
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", set, rule->name);
		if (!wanted(r, set, name))
			continue;
		if (r->place)
			judge(r, rule, op, name);
		else
			(void)puts(name);
	}
}

static void all(struct run *r)
{
	const struct op *op;

	for (size_t i = 0; (op = op_at(i)); i++)
		each(r, op_name(op), &path_set, op);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		each(r, sets[i]->set, sets[i], NULL);
}

static int try_in(struct run *r, const char *dir)
{
	struct place place = { .dir_fd = -1 };

	if (geteuid() != 0) {
		(void)fprintf(stderr, "conform: must be run by root\n");
		return 2;
	}
	if (place_make(&place, dir) < 0) {
		(void)fprintf(stderr, "conform: '%s': %s\n", dir,
			      strerror(errno));
		return 2;
	}
	r->place = &place;
	all(r);
	place_remove(&place);
	(void)printf("%u rules hold, %u differ as said, %u are wrong\n",
		     r->held, r->differed, r->wrong);
	if (r->held + r->differed + r->wrong == 0) {
		(void)fprintf(stderr, "conform: no rule has such a name\n");
		return 2;
	}
	return r->wrong > 0;
}

/* As a program that runs, which a rule needs. */
static int wait_for_end(void)
{
	char c;

	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	return read(STDIN_FILENO, &c, 1) != 0;
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: conform [--kind KIND] [--sample N] DIR "
			      "[PATTERN...]\n"
			      "       conform --list [PATTERN...]\n"
			      "       conform --differs\n");
	return 2;
}

/* Where DIR is, or -1. */
static int read_options(struct run *r, int argc, char **argv)
{
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "--kind") == 0)
			r->kind = argv[i + 1];
		else if (strcmp(argv[i], "--sample") == 0)
			r->sample =
				(unsigned int)strtoul(argv[i + 1], NULL, 10);
		else
			return -1;
	}
	return i < argc && argv[i][0] != '-' && r->sample > 0 ? i : -1;
}

int main(int argc, char **argv)
{
	struct run r = { .sample = 1 };
	int i;

	if (argc == 2 && strcmp(argv[1], "--wait") == 0)
		return wait_for_end();
	if (argc == 2 && strcmp(argv[1], "--differs") == 0) {
		differences_print();
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		r.pattern = argv + 2;
		r.n_patterns = argc - 2;
		all(&r);
		return 0;
	}
	i = read_options(&r, argc, argv);
	if (i < 0)
		return usage();
	if (r.kind && !difference_kind(r.kind)) {
		(void)fprintf(stderr, "conform: of kind '%s' nothing is said\n",
			      r.kind);
		return 2;
	}
	r.pattern = argv + i + 1;
	r.n_patterns = argc - i - 1;
	return try_in(&r, argv[i]);
}

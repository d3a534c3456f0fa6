/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/filter.c - see filter.h */
#include <fnmatch.h>
#include <string.h>

#include "host/cli/filter.h"
#include "host/cli/value.h"

/* What stands behind "@key=" in @filter, or NULL. */
static const char *value_of(const char *filter, const char *key)
{
	size_t len = strlen(key);

	return strncmp(filter, key, len) == 0 && filter[len] == '='
		       ? filter + len + 1
		       : NULL;
}

static bool is_state(const char *word)
{
	for (int s = HUTCH_STATE_STARTING; s <= HUTCH_STATE_STOPPED; s++) {
		if (!strcmp(word, hutch_state_name((enum hutch_state)s)))
			return true;
	}
	return false;
}

static int check(const char *filter, struct hutch_err *e)
{
	const char *state = value_of(filter, "state");
	const char *label = value_of(filter, "label");
	const char *name = value_of(filter, "name");

	if (state && !is_state(state))
		return value_refuse(e, "--filter state", state,
				    "is none: starting, running, stopping "
				    "or stopped is wanted");
	if (state || (name && *name) || (label && *label && *label != '='))
		return 0;
	return value_refuse(e, "--filter", filter,
			    "is not label=KEY, label=KEY=VALUE, state=STATE "
			    "or name=PATTERN");
}

int filter_check(const struct opt_list *filters, struct hutch_err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < filters->n; i++)
		r = check(filters->v[i], e);
	return r;
}

/* @want is "key" or "key=value". */
static bool has_label(const struct hutch_record *rec, const char *want)
{
	size_t len = strlen(want);

	for (size_t i = 0; rec->labels && rec->labels[i]; i++) {
		const char *have = rec->labels[i];

		if (strncmp(have, want, len) == 0 &&
		    (have[len] == '\0' ||
		     (have[len] == '=' && !strchr(want, '='))))
			return true;
	}
	return false;
}

/** struct tally - Filters of one kind, of which one is enough */
struct tally {
	bool asked;
	bool met;
};

static void count(struct tally *t, bool met)
{
	t->asked = true;
	t->met |= met;
}

bool filter_match(const struct opt_list *filters,
		  const struct hutch_record *rec)
{
	struct tally states = { 0 }, names = { 0 };

	for (size_t i = 0; i < filters->n; i++) {
		const char *f = filters->v[i], *v;

		if ((v = value_of(f, "label")) && !has_label(rec, v))
			return false;
		if ((v = value_of(f, "state")))
			count(&states,
			      !strcmp(v, hutch_state_name(rec->state)));
		if ((v = value_of(f, "name")))
			count(&names, fnmatch(v, rec->name, 0) == 0);
	}
	return (!states.asked || states.met) && (!names.asked || names.met);
}

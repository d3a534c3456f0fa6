/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_ctl.c - any line on a control socket */
#include <string.h>

#include "common/ctl.h"
#include "tests/fuzz/fuzz.h"

/* What was understood, said again, is understood the same. */
static void say_again(const struct ctl_msg *m)
{
	struct ctl_out o;
	struct err e = { 0 };
	struct ctl_msg again;
	int len;

	ctl_begin(&o, m->verb);
	for (unsigned int i = 0; i < m->n_args; i++)
		ctl_add(&o, m->arg[i].key, m->arg[i].value);
	len = ctl_end(&o);
	if (len < 0)
		return; /* escaped in full it may be too long */
	bug_on(ctl_parse(o.buf, (size_t)len - 1, &again, &e) < 0);
	bug_on(strcmp(m->verb, again.verb) != 0);
	bug_on(m->n_args != again.n_args);
	for (unsigned int i = 0; i < m->n_args; i++) {
		bug_on(strcmp(m->arg[i].key, again.arg[i].key) != 0);
		bug_on(strcmp(m->arg[i].value, again.arg[i].value) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_free char *line = malloc(len + 1);
	struct err e = { 0 };
	struct ctl_msg m;

	if (!line)
		return 0;
	if (len)
		memcpy(line, data, len);
	if (ctl_parse(line, len, &m, &e) < 0) {
		bug_on(!e.msg[0]); /* a refusal always says why */
		return 0;
	}
	bug_on(m.n_args > CTL_ARGS_MAX);
	if (strcmp(m.verb, "error") != 0)
		say_again(&m);
	else
		bug_on(!m.code || !m.sentence);
	return 0;
}

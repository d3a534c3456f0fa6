/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/check_main.c - see check_main.h */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

static bool wanted(const char *name, const char *const *only)
{
	if (!*only)
		return true;
	for (; *only; only++)
		if (strcmp(*only, name) == 0)
			return true;
	return false;
}

/*
 * nohup, or a shell's '&', leaves signals ignored in all that they start: what
 * a test sees must not depend on how it was started.
 */
static void default_signals(void)
{
	static const int all[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGCHLD,
				   SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		(void)signal(all[i], SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

unsigned int check_size(unsigned int usual, unsigned int full)
{
	return getenv("HUTCH_FULL") ? full : usual;
}

int check_main(const char *suite, const TTest *const *tests, size_t n,
	       const char *const *only)
{
	Suite *s = suite_create(suite);
	SRunner *sr = srunner_create(s);
	unsigned int added = 0;
	int failed;

	for (size_t i = 0; i < n; i++) {
		TCase *tc;

		if (!wanted(tests[i]->name, only))
			continue;
		/* A case of its own, so that TAP says which test it was. */
		tc = tcase_create(tests[i]->name);
		tcase_add_test(tc, tests[i]);
		suite_add_tcase(s, tc);
		added++;
	}
	if (!added) {
		(void)fprintf(stderr, "%s: no test of that name\n", suite);
		srunner_free(sr);
		return 2;
	}
	default_signals();
	/* Programs get this from their main() as well. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	srunner_set_fork_status(sr, CK_NOFORK);
	srunner_set_tap(sr, "-");
	srunner_run_all(sr, CK_SILENT);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}

void *check_copy(const void *src, size_t len)
{
	void *p = malloc(len ? len : 1);

	bug_on(!p);
	if (len)
		memcpy(p, src, len);
	return p;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/check_main.h - the main() of a unit test that uses Check
 *
 *	START_TEST(pop_of_a_loop_returns_ebadmsg)
 *	{
 *		...
 *		ck_assert_int_eq(virtq_pop(&q, &c), -EBADMSG);
 *	}
 *	END_TEST
 *
 *	CHECK_MAIN("virtq", pop_of_a_loop_returns_ebadmsg, ...)
 *
 * Tests run in one process, so that sanitizers see all of it, and speak TAP.
 * With arguments, only the tests so named run: test_virtq NAME...
 */
#ifndef HUTCH_TESTS_CHECK_MAIN_H
#define HUTCH_TESTS_CHECK_MAIN_H

#include <check.h>

#include "common/base.h"

#define CHECK_MAIN(suite, ...)                                             \
	int main(int argc, char **argv)                                    \
	{                                                                  \
		const TTest *const tests[] = { __VA_ARGS__ };              \
                                                                           \
		return check_main((suite), tests, ARRAY_LEN(tests),        \
				  (const char *const *)argv + (argc > 0)); \
	}

/**
 * check_main() - Run tests and print TAP on stdout
 * @suite:	Name of what is tested
 * @only:	Names of the tests to run, NULL-terminated; empty runs all
 *
 * Return: 0 if all passed; 1 if one failed; 2 if no test has such a name
 */
int check_main(const char *suite, const TTest *const *tests, size_t n,
	       const char *const *only);

/**
 * check_size() - A quantity of a test that is as large as what it stands for
 *
 * Return: @full if HUTCH_FULL is set, as it is for the plain build's tests of
 * the suite "full"; else @usual, which fits a build with sanitizers
 */
unsigned int check_size(unsigned int usual, unsigned int full);

/** check_copy() - @len bytes on the heap, of exact size: ASan sees overreads */
void *check_copy(const void *src, size_t len);

#endif

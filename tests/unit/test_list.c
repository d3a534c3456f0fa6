/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_list.c - common/list.h */
#include "common/list.h"
#include "tests/lib/check_main.h"

struct item {
	int value;
	struct list link;
};

static int digits(struct list *head)
{
	struct list *p;
	int r = 0;

	list_for_each (p, head) {
		const struct item *it = list_entry(p, struct item, link);

		r = r * 10 + it->value;
	}
	return r;
}

START_TEST(elements_stay_in_the_order_they_came)
{
	struct item a = { .value = 1 }, b = { .value = 2 }, c = { .value = 3 };
	struct list head;

	list_init(&head);
	ck_assert(list_empty(&head));
	list_add_tail(&head, &a.link);
	list_add_tail(&head, &b.link);
	list_add_tail(&head, &c.link);

	ck_assert(!list_empty(&head));
	ck_assert_int_eq(digits(&head), 123);
	list_del(&b.link);
	ck_assert_int_eq(digits(&head), 13);
}
END_TEST

START_TEST(deleting_twice_does_no_harm)
{
	struct item a = { .value = 1 }, b = { .value = 2 };
	struct list head;

	list_init(&head);
	list_add_tail(&head, &a.link);
	list_add_tail(&head, &b.link);

	list_del(&a.link);
	list_del(&a.link);

	ck_assert_int_eq(digits(&head), 2);
}
END_TEST

START_TEST(the_safe_walk_survives_removal_of_each_element)
{
	struct item it[4];
	struct list head, *p, *n;
	int seen = 0;

	list_init(&head);
	for (int i = 0; i < 4; i++)
		list_add_tail(&head, &it[i].link);

	list_for_each_safe (p, n, &head) {
		list_del(p);
		seen++;
	}

	ck_assert_int_eq(seen, 4);
	ck_assert(list_empty(&head));
}
END_TEST

CHECK_MAIN("list", elements_stay_in_the_order_they_came,
	   deleting_twice_does_no_harm,
	   the_safe_walk_survives_removal_of_each_element)

/* SPDX-License-Identifier: Apache-2.0 */
/* common/list.h - intrusive doubly linked list with a head */
#ifndef HUTCH_COMMON_LIST_H
#define HUTCH_COMMON_LIST_H

#include <stdbool.h>

#include "common/base.h"

/**
 * struct list - Link of an element, or the head of a list
 *
 * A head and an element that is in no list point at themselves, so that
 * list_del() is safe to call twice.
 */
struct list {
	struct list *prev;
	struct list *next;
};

static inline void list_init(struct list *l)
{
	l->prev = l;
	l->next = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/** list_add_tail() - Put @n last in the list that @head heads */
static inline void list_add_tail(struct list *head, struct list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/** list_del() - Take @n out of whatever list it is in, if any */
static inline void list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define list_entry(p, type, member) container_of(p, type, member)

#define list_for_each(p, head) \
	for ((p) = (head)->next; (p) != (head); (p) = (p)->next)

/* Safe against removal of @p itself; @n is a second struct list *. */
#define list_for_each_safe(p, n, head)                           \
	for ((p) = (head)->next, (n) = (p)->next; (p) != (head); \
	     (p) = (n), (n) = (p)->next)

#endif

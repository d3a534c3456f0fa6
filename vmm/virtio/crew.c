/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/crew.c - see crew.h */
#include <signal.h>
#include <string.h>

#include "vmm/virtio/crew.h"

#define STACK_LEN (256u << 10)

int crew_add(struct crew *c, pthread_t *ret, void *(*fn)(void *), void *arg,
	     struct err *e)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_LEN);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(ret, &attr, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	if (r < 0)
		return err_set(e, r, "%s: thread %u: %s", c->what, c->n_made,
			       strerror(-r));
	c->n_made++;
	return 0;
}

int crew_begin(struct crew *c)
{
	struct err e = { 0 };
	int r = c->jail ? c->jail(&e) : 0;

	(void)pthread_mutex_lock(&c->vd->lock);
	if (r < 0 && c->jail_error == 0) {
		c->jail_error = r;
		c->jail_text = e;
	}
	c->n_begun++;
	(void)pthread_cond_broadcast(c->calm);
	return r;
}

int crew_wait(struct crew *c, struct err *e)
{
	int r;

	(void)pthread_mutex_lock(&c->vd->lock);
	while (c->n_begun < c->n_made)
		(void)pthread_cond_wait(c->calm, &c->vd->lock);
	r = c->jail_error;
	if (r < 0 && e)
		*e = c->jail_text;
	(void)pthread_mutex_unlock(&c->vd->lock);
	return r;
}

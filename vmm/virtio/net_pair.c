/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/net_pair.c - the threads that move frames, one for each pair of queues
 *
 * How it works.  Each pair of queues has a thread, which waits for the driver's
 * notifications and for the link at once, moves a turn of frames each way, and
 * waits again.  It holds the device's lock for the queues and gives it up for
 * the system calls that move a frame, which never block.  So a slow link holds
 * up nothing but itself, and no other thread has a part in it.
 *
 * Notifications.  The driver is asked for one when its queue is empty, and when
 * there are too few buffers to receive into; the link is polled only for what
 * somebody waits for.  So a flood with no buffer to take it costs nothing.
 *
 * Reset.  The vCPU that resets the device waits (quiesce) for system calls
 * under way, and takes the buffers away that wait for frames.  The link is told
 * what was agreed upon when the driver runs.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "common/loop.h"
#include "vmm/virtio/net_dev.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

bool net_is_still(const struct virtio_net *n)
{
	for (unsigned int i = 0; i < n->n_pairs; i++)
		if (n->pair[i].busy[NET_RX] || n->pair[i].busy[NET_TX])
			return false;
	return true;
}

void net_wake(struct virtio_net *n)
{
	for (unsigned int i = 0; i < n->n_pairs; i++)
		virtio_dev_kick(&n->vd, net_rx_queue(&n->pair[i]));
}

/* ---- For the files of the device ---- */

bool net_is_agreed(const struct virtio_net *n)
{
	return n->vd.running && !n->vd.reset_due && n->set_up;
}

bool net_may_serve(const struct net_pair *p)
{
	return net_is_agreed(p->n) && !p->n->paused && p->i < p->n->n_active;
}

void net_begin(struct net_pair *p, enum net_dir dir)
{
	p->busy[dir] = true;
	net_unlock(p->n);
}

bool net_end(struct net_pair *p, enum net_dir dir)
{
	struct virtio_net *n = p->n;

	net_lock(n);
	p->busy[dir] = false;
	(void)pthread_cond_broadcast(&n->calm);
	if (n->paused && net_is_still(n) && n->cfg.still)
		n->cfg.still(n->cfg.ctx);
	/*
	 * What was done before a pause, or before the driver put the pair out
	 * of use, is finished; before a reset, dropped.
	 */
	return net_is_agreed(n);
}

void net_wake_at(struct net_pair *p, uint64_t at_ns)
{
	if (!p->wake_ns || at_ns < p->wake_ns)
		p->wake_ns = at_ns;
}

void net_retry(struct net_pair *p)
{
	net_wake_at(p, loop_now_ns() + VIRTIO_NET_RETRY_MS * NS_PER_MS);
}

bool net_flush(struct net_pair *p)
{
	struct net_link *l = p->n->link;
	int r;

	if (!p->n->up || !l->unsent)
		return false;
	/* No buffer of the guest's is touched: nobody has to wait for it. */
	net_unlock(p->n);
	r = l->ops->flush(l, p->i);
	net_lock(p->n);
	if (r == -EAGAIN)
		p->want_out = true;
	else if (r == -ENOBUFS)
		net_retry(p);
	else if (r < 0)
		net_lost(p->n, r);
	return r == -EAGAIN || r == -ENOBUFS;
}

void net_lost(struct virtio_net *n, int why)
{
	if (!n->up)
		return;
	n->up = false;
	n->space.status = le16_put(
		(uint16_t)(le16_get(n->space.status) & ~NET_S_LINK_UP));
	n->vd.transport->config_changed(&n->vd);
	/* Nobody looks at the link any more, for which some may wait. */
	net_wake(n);
	if (n->cfg.lost)
		n->cfg.lost(n->cfg.ctx, why);
}

/* ---- The threads; lock held but while they wait ---- */

/* What the driver has agreed to. */
static void set_up(struct virtio_net *n)
{
	const struct net_link_ops *ops = n->link->ops;
	int r = 0;

	n->host = net_hdr_host(n->vd.features);
	n->guest = net_hdr_guest(n->vd.features);
	if (n->up)
		r = ops->offload(n->link, n->guest);
	if (r == 0 && n->up)
		r = ops->spread(n->link, 1);
	n->n_active = 1;
	n->set_up = true;
	/* It may have been told of a request that it could not serve yet. */
	if (n->n_pairs > 1)
		virtio_dev_kick(&n->vd, net_rx_queue(&n->pair[1]));
	if (r < 0)
		net_lost(n, r);
}

/* Return: 1 if there is more to do, 0 to wait, or -EBADMSG */
static int serve_queues(struct net_pair *p)
{
	int r, s;

	if (!net_may_serve(p))
		return 0;
	r = net_tx_serve(p);
	if (r < 0 || !net_may_serve(p))
		return r;
	s = net_rx_serve(p);
	return s < 0 ? s : r | s;
}

/*
 * Whose notifications the control queue's come with: without MQ it is where the
 * second pair would be (5.1.2).
 */
static bool has_ctrl(const struct net_pair *p)
{
	return p->i == (net_ctrl_queue(p->n) == 2 * p->n->n_pairs ? 0 : 1);
}

static bool turn(struct net_pair *p, bool running)
{
	struct virtio_net *n = p->n;
	int r = 0;

	p->wake_ns = 0;
	p->want_in = false;
	p->want_out = false;
	if (running && !n->set_up && p->i == 0)
		set_up(n);
	if (has_ctrl(p) && net_is_agreed(n) && !n->paused)
		r = net_ctrl_serve(n);
	if (r == 0 && net_may_serve(p))
		r = serve_queues(p);
	else
		(void)net_flush(p); /* the rest of a frame from before */
	if (r < 0 && n->vd.running)
		virtio_dev_break(&n->vd);
	return r > 0;
}

/* Return: time until then, or NULL for ever */
static struct timespec *time_until(uint64_t at_ns, struct timespec *ts)
{
	uint64_t now = loop_now_ns(), ns = at_ns > now ? at_ns - now : 0;

	if (!at_ns)
		return NULL;
	ts->tv_sec = (time_t)(ns / NS_PER_S);
	ts->tv_nsec = (long)(ns % NS_PER_S);
	return ts;
}

/* Without the lock, of what was noted under it; the link is the last, if any. */
static void wait_for(struct pollfd *pf, unsigned int n_kicks,
		     unsigned int n_fds, uint64_t wake_ns)
{
	struct timespec ts;
	uint64_t count;

	if (ppoll(pf, n_fds, time_until(wake_ns, &ts), NULL) < 0)
		bug_on(errno != EINTR && errno != ENOMEM);
	for (unsigned int i = 0; i < n_kicks; i++)
		if (pf[i].revents && read(pf[i].fd, &count, sizeof(count)) < 0)
			bug_on(errno != EAGAIN && errno != EINTR);
}

/* The link, if something of it is waited for. Return: how many: one or none */
static unsigned int watch_link(const struct net_pair *p, struct pollfd *pf)
{
	struct net_link *l = p->n->link;
	short want = (short)((p->want_in ? POLLIN : 0) |
			     (p->want_out ? POLLOUT : 0));

	/* One that is gone is always ready: only who waits may ask. */
	if (!want || !p->n->up || p->n->paused)
		return 0;
	*pf = (struct pollfd){ l->ops->fd(l, p->i), want, 0 };
	return 1;
}

static void serve(struct net_pair *p)
{
	struct virtio_net *n = p->n;
	struct pollfd pf[ARRAY_LEN(p->fd) + 1];
	unsigned int n_kicks = 0, n_fds;
	uint64_t wake_ns;
	bool running, more, quit;

	for (unsigned int i = 0; i < ARRAY_LEN(p->fd); i++)
		if (p->fd[i] >= 0)
			pf[n_kicks++] = (struct pollfd){ p->fd[i], POLLIN, 0 };
	do {
		running = virtio_dev_enter(&n->vd);
		more = turn(p, running);
		n_fds = n_kicks + watch_link(p, pf + n_kicks);
		wake_ns = p->wake_ns;
		quit = n->quit;
		virtio_dev_leave(&n->vd);
		if (!more && !quit)
			wait_for(pf, n_kicks, n_fds, wake_ns);
	} while (!quit);
}

static void *thread_main(void *arg)
{
	struct net_pair *p = arg;
	struct virtio_net *n = p->n;
	int r = crew_begin(&n->crew);

	net_unlock(n);
	if (r == 0)
		serve(p);
	return NULL;
}

/* The control queue's place hangs on what the driver agrees to. */
static void find_kicks(struct virtio_net *n, struct net_pair *p)
{
	const struct virtio_transport_ops *t = n->vd.transport;

	p->fd[0] = t->kick_fd(&n->vd, net_rx_queue(p));
	p->fd[1] = t->kick_fd(&n->vd, net_tx_queue(p));
	if (p->i == 0)
		p->fd[2] = t->kick_fd(&n->vd, 2 * n->n_pairs);
}

int virtio_net_start(struct virtio_net *n, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < n->n_pairs; i++) {
		find_kicks(n, &n->pair[i]);
		r = crew_add(&n->crew, &n->pair[i].id, thread_main, &n->pair[i],
			     e);
	}
	return r < 0 ? r : crew_wait(&n->crew, e);
}

void virtio_net_stop(struct virtio_net *n)
{
	if (!n)
		return;
	net_lock(n);
	n->quit = true;
	net_wake(n);
	net_unlock(n);
	for (unsigned int i = 0; i < n->crew.n_made; i++)
		(void)pthread_join(n->pair[i].id, NULL);
	n->crew.n_made = 0;
}

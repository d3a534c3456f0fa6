/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/carrier.c - see carrier.h */
#include <errno.h>
#include <sys/socket.h>

#include "host/net/intercept/carrier.h"

#define STEP 16384u

/**
 * struct end - One of the two sockets
 * @eof:	Nothing more is read from it
 * @gone:	Nor can anything be written
 * @shut:	It was shut down for writing
 */
struct end {
	struct loop_io io;
	int fd;
	bool eof;
	bool gone;
	bool shut;
};

/**
 * struct carrier - See carrier.h
 * @began_ns:	When it was started
 * @moved_ns:	When a byte last came or went
 * @late:	It was told that it is
 * @asked:	@want_up was called
 */
struct carrier {
	struct loop *loop;
	struct icpt *s;
	struct end guest;
	struct end up;
	uint64_t begin_ns;
	uint64_t rest_ns;
	uint64_t idle_ns;
	uint64_t began_ns;
	uint64_t moved_ns;
	bool late;
	struct loop_timer idle;
	struct loop_timer linger;
	struct loop_defer over;
	bool asked;
	void (*want_up)(void *arg, struct carrier *c);
	void (*ended)(void *arg, struct carrier *c, const char *why);
	void *arg;
};

static struct end *end_of(struct carrier *c, enum icpt_side side)
{
	return side == ICPT_GUEST ? &c->guest : &c->up;
}

static void close_end(struct end *x)
{
	loop_del(&x->io);
	if (x->fd >= 0)
		(void)close(x->fd);
	x->fd = -1;
	x->eof = true;
	x->gone = true;
}

static void free_all(struct carrier *c)
{
	loop_timer_cancel(&c->idle);
	loop_timer_cancel(&c->linger);
	loop_defer_cancel(c->loop, &c->over);
	close_end(&c->guest);
	close_end(&c->up);
	icpt_free(c->s);
	free(c);
}

static void over(struct loop_defer *d)
{
	struct carrier *c = container_of(d, struct carrier, over);

	close_end(&c->guest);
	close_end(&c->up);
	if (c->ended)
		c->ended(c->arg, c, icpt_why(c->s));
	free_all(c);
}

static void lingered(struct loop_timer *t)
{
	struct carrier *c = container_of(t, struct carrier, linger);

	loop_defer(c->loop, &c->over, over);
}

/* ---- Bytes ---- */

/* Return: whether any came. */
static bool take(struct carrier *c, enum icpt_side side)
{
	struct end *x = end_of(c, side);
	size_t room = MIN(icpt_room(c->s, side), STEP);
	uint8_t buf[STEP];
	ssize_t n;

	if (x->fd < 0 || x->eof || room == 0)
		return false;
	n = recv(x->fd, buf, room, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0) {
		icpt_feed(c->s, side, buf, (size_t)n);
		return true;
	}
	x->eof = true;
	x->gone = x->gone || n < 0;
	icpt_eof(c->s, side);
	return true;
}

/* Return: whether any went. */
static bool give(struct carrier *c, enum icpt_side side)
{
	struct end *x = end_of(c, side);
	const void *p;
	size_t len = icpt_out(c->s, side, &p);
	ssize_t n;

	if (len == 0 || (x->fd < 0 && !x->gone))
		return false;
	/* Nobody is there to have it. */
	n = x->gone ? (ssize_t)len : send(x->fd, p, len, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		/* What it has said before that is still there to be read. */
		x->gone = true;
		if (!x->eof && side == ICPT_GUEST) {
			icpt_eof(c->s, side);
			x->eof = true;
		}
		return true;
	}
	icpt_sent(c->s, side, (size_t)n);
	return true;
}

static void shut_down(struct carrier *c, enum icpt_side side)
{
	struct end *x = end_of(c, side);

	if (x->fd < 0 || x->shut || x->gone || !icpt_is_shut(c->s, side))
		return;
	x->shut = true;
	(void)shutdown(x->fd, SHUT_WR);
}

/* ---- Events ---- */

static void watch(struct carrier *c, enum icpt_side side)
{
	struct end *x = end_of(c, side);
	const void *p;
	uint32_t events = 0;

	/* A socket that has hung up says so again and again. */
	if (x->gone) {
		loop_del(&x->io);
		return;
	}
	if (!x->eof && icpt_room(c->s, side) > 0)
		events |= EPOLLIN;
	if (icpt_out(c->s, side, &p) > 0)
		events |= EPOLLOUT;
	loop_mod(&x->io, events);
}

/* The last answer is sent: read on for a moment, so that it is not overtaken. */
static void finish(struct carrier *c)
{
	close_end(&c->up);
	if (c->guest.eof || c->guest.gone)
		loop_defer(c->loop, &c->over, over);
	else if (!loop_timer_is_set(&c->linger))
		loop_timer_set(c->loop, &c->linger, CARRIER_LINGER_NS,
			       lingered);
}

/* Return: whether anything moved. */
static bool round_of_all(struct carrier *c)
{
	bool any = take(c, ICPT_GUEST);

	any |= take(c, ICPT_UPSTREAM);
	any |= give(c, ICPT_UPSTREAM);
	any |= give(c, ICPT_GUEST);
	return any;
}

/* ---- A handler ---- */

static void see_to_handler(struct carrier *c)
{
	if (icpt_wants_up(c->s) && !c->asked) {
		c->asked = true;
		c->want_up(c->arg, c);
	}
}

/*
 * Two rounds: what one side gives room for the other may fill. More for a server
 * that has hung up: it wakes nobody, and what it left in the kernel's buffer is
 * all that there will be.
 */
static void turn(struct carrier *c)
{
	bool any = true;

	for (int i = 0; any && (i < 2 || (c->up.gone && !c->up.eof)); i++) {
		any = round_of_all(c);
		if (any)
			c->moved_ns = loop_now_ns();
	}
	see_to_handler(c);
	shut_down(c, ICPT_GUEST);
	shut_down(c, ICPT_UPSTREAM);
	watch(c, ICPT_GUEST);
	if (icpt_is_done(c->s))
		finish(c);
	else
		watch(c, ICPT_UPSTREAM);
	if (c->guest.gone)
		loop_defer(c->loop, &c->over, over);
}

/* ---- Time ---- */

/* Return: how much longer it may wait, in nanoseconds; 0: no longer */
static uint64_t patience(const struct carrier *c)
{
	const enum icpt_state state = icpt_state(c->s);
	const uint64_t now = loop_now_ns();
	uint64_t gone = now - c->moved_ns, may = c->idle_ns;

	if (state == ICPT_BEGINS) {
		gone = now - c->began_ns;
		may = c->begin_ns;
	} else if (state == ICPT_RESTS) {
		may = c->rest_ns;
	}
	return gone < may ? may - gone : 0;
}

/* Of a handler whose turn it is the guest is told. */
static void give_up(struct carrier *c)
{
	if (c->asked && c->up.fd >= 0 && icpt_waits(c->s))
		icpt_no_up(c->s, 504, "the handler fell silent");
	else
		icpt_late(c->s);
	turn(c);
}

/*
 * Never put off by what moves, but set anew when it fires, and for no longer than
 * a rest: what it waits for may change meanwhile.
 */
static void on_idle(struct loop_timer *t)
{
	struct carrier *c = container_of(t, struct carrier, idle);
	uint64_t left = patience(c);

	if (c->late) {
		/* The guest does not even read that it is over. */
		loop_defer(c->loop, &c->over, over);
		return;
	}
	if (left == 0) {
		c->late = icpt_state(c->s) != ICPT_BEGINS;
		give_up(c);
		left = CARRIER_LINGER_NS;
	}
	loop_timer_set(c->loop, t, MIN(left, c->rest_ns), on_idle);
}

uint64_t carrier_rests_ns(const struct carrier *c)
{
	return icpt_state(c->s) == ICPT_RESTS ? loop_now_ns() - c->moved_ns : 0;
}

static void event(struct carrier *c, struct end *x, enum icpt_side side,
		  uint32_t events)
{
	/* What it still has to say is read first. */
	if (events & (EPOLLHUP | EPOLLERR)) {
		while (take(c, side))
			;
		x->gone = x->gone || x->eof || icpt_room(c->s, side) == 0;
	}
	turn(c);
}

static void guest_event(struct loop_io *io, uint32_t events)
{
	struct carrier *c = container_of(io, struct carrier, guest.io);

	event(c, &c->guest, ICPT_GUEST, events);
}

static void up_event(struct loop_io *io, uint32_t events)
{
	struct carrier *c = container_of(io, struct carrier, up.io);

	event(c, &c->up, ICPT_UPSTREAM, events);
}

int carrier_start(const struct carrier_opts *o, struct carrier **ret,
		  struct err *e)
{
	struct carrier *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(e, -ENOMEM, "no memory for an interception");
	c->loop = o->loop;
	c->ended = o->ended;
	c->arg = o->arg;
	c->want_up = o->want_up;
	c->guest.fd = c->up.fd = -1;
	r = icpt_new(&o->icpt, &c->s, e);
	if (r < 0) {
		free(c);
		return r;
	}
	r = loop_add(o->loop, &c->guest.io, o->guest_fd, EPOLLIN, guest_event);
	if (r == 0 && o->up_fd >= 0)
		r = loop_add(o->loop, &c->up.io, o->up_fd, EPOLLIN | EPOLLOUT,
			     up_event);
	if (r < 0) {
		free_all(c);
		return err_set(e, r, "cannot watch an interception");
	}
	c->guest.fd = o->guest_fd;
	c->up.fd = o->up_fd;
	c->begin_ns = o->begin_ns;
	c->rest_ns = o->rest_ns;
	c->idle_ns = o->idle_ns;
	c->began_ns = c->moved_ns = loop_now_ns();
	loop_timer_set(c->loop, &c->idle, MIN(c->begin_ns, c->rest_ns),
		       on_idle);
	*ret = c;
	return 0;
}

void carrier_up(struct carrier *c, int fd)
{
	int r = -ECANCELED;

	/* The guest may have gone meanwhile, or its request. */
	if (c->up.fd < 0 && !c->up.gone)
		r = loop_add(c->loop, &c->up.io, fd, EPOLLIN | EPOLLOUT,
			     up_event);
	if (r < 0) {
		(void)close(fd);
		icpt_no_up(c->s, 502, "there is no memory");
	} else {
		c->up.fd = fd;
		c->moved_ns = loop_now_ns();
	}
	turn(c);
}

void carrier_no_up(struct carrier *c, unsigned int status, const char *why)
{
	icpt_no_up(c->s, status, why);
	turn(c);
}

void carrier_retire(struct carrier *c)
{
	icpt_retire(c->s);
	turn(c);
}

void carrier_stop(struct carrier *c)
{
	if (c)
		free_all(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_errors.c - vmm/net: what links make of system calls that
 * fail
 *
 * The calls are those below, and fail as a test says.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/lib/check_main.h"
#include "vmm/net/stream.h"
#include "vmm/net/tap.h"

#define LEN       60u
#define LARGE_LEN 3000u /* too large to be gathered */
#define QUEUES    4u
#define NOWHERE   1000 /* first of descriptors that are none */

/* What the next call of that kind fails with; 0: it is made. */
static int send_error, recv_error;

/* Bytes that the next sendmsg() takes at most; 0: all. */
static size_t send_most;

/* Queues of a tap that are attached, and the one that is stuck. */
static bool attached[QUEUES];
static unsigned int stuck;

static int fail_with(int *code)
{
	errno = *code;
	*code = 0;
	return -1;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct iovec v = message->msg_iov[0];
	struct msghdr part = *message;

	if (send_error)
		return fail_with(&send_error);
	if (send_most) {
		v.iov_len = MIN(v.iov_len, send_most);
		part.msg_iov = &v;
		part.msg_iovlen = 1;
		send_most = 0;
	}
	return syscall(SYS_sendmsg, fd, &part, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	if (recv_error)
		return fail_with(&recv_error);
	return syscall(SYS_recvmsg, fd, message, flags);
}

/* Of queues alone: nothing else here needs it. */
int ioctl(int fd, unsigned long request, ...)
{
	unsigned int q = (unsigned int)(fd - NOWHERE);
	const struct ifreq *ifr;
	va_list ap;

	va_start(ap, request);
	ifr = va_arg(ap, const struct ifreq *);
	va_end(ap);
	ck_assert_uint_eq(request, TUNSETQUEUE);
	ck_assert_uint_lt(q, QUEUES);
	errno = EIO;
	if (q == stuck)
		return -1;
	/* The kernel refuses what is so already. */
	ck_assert(attached[q] == !!(ifr->ifr_flags & IFF_DETACH_QUEUE));
	attached[q] = ifr->ifr_flags & IFF_ATTACH_QUEUE;
	return 0;
}

static struct net_link *stream(int *ret_peer)
{
	struct net_link *l = NULL;
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	ck_assert_int_eq(net_stream_new(fd[1], false, &l), 0);
	*ret_peer = fd[0];
	return l;
}

static int send_frame(struct net_link *l, uint8_t *frame, size_t len)
{
	struct iovec io[2] = { { NULL, 0 }, { frame, len } };

	return l->ops->send(l, 0, io, 1, len);
}

static void expect_frame(int peer, const uint8_t *frame, size_t len)
{
	uint8_t got[4 + LARGE_LEN];

	ck_assert_int_eq(read(peer, got, 4 + len), 4 + (ssize_t)len);
	ck_assert_uint_eq(got[0], 0);
	ck_assert_uint_eq(got[1], 0);
	ck_assert_uint_eq(got[2] << 8 | got[3], len);
	ck_assert_mem_eq(got + 4, frame, len);
}

static void expect_nothing(int peer)
{
	uint8_t got;

	ck_assert_int_eq(recv(peer, &got, 1, MSG_DONTWAIT), -1);
}

START_TEST(frame_that_there_is_no_memory_to_send_is_lost)
{
	uint8_t frame[LARGE_LEN] = { 1, 2, 3 };
	int peer;
	struct net_link *l = stream(&peer);

	send_error = ENOBUFS;
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), -EINVAL);
	send_error = ENOMEM;
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), -EINVAL);
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), 0);
	expect_frame(peer, frame, LARGE_LEN);
	expect_nothing(peer);
	send_error = EPIPE;
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), -EPIPE);
	net_link_free(l);
	ck_assert_int_eq(close(peer), 0);
}
END_TEST

/* Or the peer would take the next frame for the rest of this one. */
START_TEST(rest_of_a_frame_waits_for_memory)
{
	uint8_t frame[LARGE_LEN] = { 1, 2, 3 };
	int peer;
	struct net_link *l = stream(&peer);

	send_most = 3;
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), 0);
	ck_assert_uint_eq(l->unsent, 4 + LARGE_LEN - 3);
	send_error = ENOMEM;
	ck_assert_int_eq(l->ops->flush(l, 0), -ENOBUFS);
	send_error = ENOBUFS;
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), -EINVAL);
	ck_assert_int_eq(l->ops->flush(l, 0), 0);
	expect_frame(peer, frame, LARGE_LEN);
	expect_nothing(peer);
	net_link_free(l);
	ck_assert_int_eq(close(peer), 0);
}
END_TEST

/* With the first of them a large one goes too, and behind them. */
START_TEST(small_frames_go_together)
{
	uint8_t frame[LARGE_LEN] = { 1, 2, 3 };
	int peer;
	struct net_link *l = stream(&peer);

	ck_assert_int_eq(send_frame(l, frame, LEN), 0);
	ck_assert_int_eq(send_frame(l, frame + 1, LEN), 0);
	expect_nothing(peer);
	send_error = ENOBUFS;
	ck_assert_int_eq(l->ops->flush(l, 0), -ENOBUFS);
	ck_assert_uint_eq(l->unsent, 2ul * (4 + LEN));
	send_most = 3;
	ck_assert_int_eq(l->ops->flush(l, 0), 0);
	expect_frame(peer, frame, LEN);
	expect_frame(peer, frame + 1, LEN);
	ck_assert_int_eq(send_frame(l, frame, LEN), 0);
	ck_assert_int_eq(send_frame(l, frame, LARGE_LEN), 0);
	expect_frame(peer, frame, LEN);
	expect_frame(peer, frame, LARGE_LEN);
	/* As many as there is room for, and then those that are there. */
	for (unsigned int i = 0; i < 2000; i++)
		ck_assert_int_eq(send_frame(l, frame, LEN), 0);
	ck_assert_int_eq(l->ops->flush(l, 0), 0);
	for (unsigned int i = 0; i < 2000; i++)
		expect_frame(peer, frame, LEN);
	expect_nothing(peer);
	ck_assert_int_eq(send_frame(l, frame, LEN), 0);
	send_error = EPIPE;
	ck_assert_int_eq(l->ops->flush(l, 0), -EPIPE);
	net_link_free(l);
	ck_assert_int_eq(close(peer), 0);
}
END_TEST

START_TEST(frame_to_receive_waits_for_memory)
{
	static const uint8_t sent[4 + LEN] = { 0, 0, 0, LEN, 1, 2, 3 };
	uint8_t frame[LEN];
	struct iovec io[2] = { { frame, sizeof(frame) } };
	int peer;
	struct net_link *l = stream(&peer);

	ck_assert_int_eq(write(peer, sent, 10), 10);
	recv_error = ENOBUFS;
	ck_assert_int_eq(l->ops->next(l, 0), -ENOBUFS);
	ck_assert_int_eq(l->ops->next(l, 0), LEN);
	recv_error = ENOMEM;
	/* All of what there was has been read: that is known without asking. */
	ck_assert_int_eq(l->ops->recv(l, 0, io, 1), -EAGAIN);
	io[0] = (struct iovec){ frame, sizeof(frame) };
	ck_assert_int_eq(l->ops->recv(l, 0, io, 1), -ENOBUFS);
	ck_assert_int_eq(write(peer, sent + 10, LEN - 6), LEN - 6);
	io[0] = (struct iovec){ frame, sizeof(frame) };
	ck_assert_int_eq(l->ops->recv(l, 0, io, 1), LEN);
	ck_assert_mem_eq(frame, sent + 4, LEN);
	net_link_free(l);
	ck_assert_int_eq(close(peer), 0);
}
END_TEST

/* A socket of packets fails in the same way. */
START_TEST(frame_too_long_for_a_tap_is_lost)
{
	static uint8_t frame[NET_FRAME_MAX];
	struct net_tap t = { .n = 1 };
	struct net_link *l = NULL;
	const int room = 1;
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
	ck_assert_int_eq(
		setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)),
		0);
	t.fd[0] = fd[0];
	ck_assert_int_eq(net_tap_new(&t, &l), 0);
	ck_assert_int_eq(send_frame(l, frame, sizeof(frame)), -EINVAL);
	ck_assert_int_eq(send_frame(l, frame, LEN), 0);
	net_link_free(l);
	ck_assert_int_eq(close(fd[1]), 0);
}
END_TEST

static void expect_attached(unsigned int n)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		ck_assert_msg(attached[i] == (i < n), "queue %u", i);
}

START_TEST(queues_of_a_tap_are_known_after_a_failure)
{
	struct net_tap t = { .n = QUEUES };
	struct net_link *l = NULL;

	for (unsigned int i = 0; i < QUEUES; i++) {
		t.fd[i] = NOWHERE + (int)i;
		attached[i] = true;
	}
	stuck = 1;
	ck_assert_int_eq(net_tap_new(&t, &l), 0);
	ck_assert_int_eq(l->ops->spread(l, 1), -EIO);
	expect_attached(2);
	ck_assert_int_eq(l->ops->spread(l, 2), 0);
	stuck = 3;
	ck_assert_int_eq(l->ops->spread(l, 4), -EIO);
	expect_attached(3);
	stuck = QUEUES;
	ck_assert_int_eq(l->ops->spread(l, 1), 0);
	expect_attached(1);
	ck_assert_int_eq(l->ops->spread(l, 4), 0);
	expect_attached(4);
	ck_assert_int_eq(l->ops->spread(l, 0), -EINVAL);
	ck_assert_int_eq(l->ops->spread(l, 5), -EINVAL);
	net_link_free(l);
}
END_TEST

CHECK_MAIN("net_errors", frame_that_there_is_no_memory_to_send_is_lost,
	   rest_of_a_frame_waits_for_memory, small_frames_go_together,
	   frame_to_receive_waits_for_memory, frame_too_long_for_a_tap_is_lost,
	   queues_of_a_tap_are_known_after_a_failure)

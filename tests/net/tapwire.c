/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/net/tapwire.c - this kernel's TCP as the guest of a link
 *
 * Usage: tapwire FD NAME
 *
 * Makes the tap NAME in the network namespace it runs in, with offloads and the
 * guest's MAC, and carries frames between it and the link FD as the monitor
 * does between a virtio queue and the link. Says "ready" when the tap is there;
 * ends when the link does. Needs root in its namespace, and /dev/net/tun.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/base.h"
#include "common/io.h"
#include "host/net/be.h"
#include "host/net/ends.h"

#define FRAME_MAX  (65535u + 14u + 12u)
#define BUFFER_MAX (1u << 20)

static void fail(const char *what)
{
	(void)fprintf(stderr, "tapwire: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_tap(const char *name)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int head = 12, one = 1;

	if (fd < 0)
		fail("/dev/net/tun");
	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0)
		fail("TUNSETIFF");
	if (ioctl(fd, TUNSETVNETHDRSZ, &head) < 0 ||
	    ioctl(fd, TUNSETVNETLE, &one) < 0)
		fail("TUNSETVNETHDRSZ");
	if (ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0)
		fail("TUNSETOFFLOAD");
	ifr.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr.ifr_hwaddr.sa_data, ends_guest_mac, 6);
	if (sock < 0 || ioctl(sock, SIOCSIFHWADDR, &ifr) < 0)
		fail("SIOCSIFHWADDR");
	(void)close(sock);
	return fd;
}

/* All of it, waiting for room: as a guest whose queue is full waits. */
static void send_all(int fd, const uint8_t *buf, size_t len)
{
	if (io_write_full(fd, buf, len) < 0)
		exit(0);
}

static void from_tap(int tap, int link)
{
	static uint8_t buf[BUFFER_MAX];
	size_t len = 0;
	be32 prefix;

	while (len + sizeof(prefix) + FRAME_MAX <= sizeof(buf)) {
		ssize_t n = read(tap, buf + len + sizeof(prefix), FRAME_MAX);

		if (n < 0)
			break;
		prefix = be32_put((uint32_t)n);
		memcpy(buf + len, &prefix, sizeof(prefix));
		len += sizeof(prefix) + (size_t)n;
	}
	if (len)
		send_all(link, buf, len);
}

static void to_tap(int link, int tap)
{
	static uint8_t buf[BUFFER_MAX];
	static size_t have;
	ssize_t n = read(link, buf + have, sizeof(buf) - have);
	size_t at = 0;
	be32 prefix;

	if (n <= 0)
		exit(0);
	have += (size_t)n;
	while (have - at >= sizeof(prefix)) {
		size_t len;

		memcpy(&prefix, buf + at, sizeof(prefix));
		len = be32_get(prefix);
		if (len > FRAME_MAX || have - at - sizeof(prefix) < len)
			break;
		/* An interface that is down takes nothing: then it is lost. */
		if (write(tap, buf + at + sizeof(prefix), len) < 0 &&
		    errno != EIO && errno != EAGAIN)
			fail("a frame that the tap does not take");
		at += sizeof(prefix) + len;
	}
	have -= at;
	memmove(buf, buf + at, have);
}

int main(int argc, char **argv)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };

	if (argc != 3) {
		(void)fprintf(stderr, "usage: tapwire FD NAME\n");
		return 2;
	}
	p[0].fd = (int)strtol(argv[1], NULL, 10);
	p[1].fd = open_tap(argv[2]);
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			from_tap(p[1].fd, p[0].fd);
		if (p[0].revents)
			to_tap(p[0].fd, p[1].fd);
	}
}

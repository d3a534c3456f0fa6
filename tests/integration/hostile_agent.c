/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/hostile_agent.c - what a guest may put in the agent's place
 *
 * Stands in for hutch-agent as /init, see hostile.sh. It answers a request
 * that holds "lie-NAME", as an argument or a process's id, with the bytes of
 * that name below, and EVENTS as the guest's hostname says: "flood", "lies",
 * "ports", or else quietly. LIST has no end. It never powers off.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/vm_sockets.h>
#include <unistd.h>

#define PORT      1000u
#define BELL      1001u
#define HOST_CID  2u
#define PORTS     300u
#define PORT_US   2000       /* a faster flood ends the emulated lab's kernel */
#define FLOOD_MAX (1u << 20) /* frames; whoever takes them all is no better */

/* Requests. */
#define EVENTS 0x11
#define LIST   0x16

/* Frames in hexadecimal; blanks are for the reader. */
#define Z32 "00000000"
#define Z64 "0000000000000000"

#define HELLO   "10000000 01000000 48544348 01000000" Z64
#define STARTED "16000000 40000000 01000000" Z32 Z64 "01000000 6100"
#define OUTPUT(type, cursor, data) \
	"13000000" type "000000" cursor "000000000000" Z64 data
#define EXIT(how, state, flags, value, total) \
	"38000000 43000000" how state flags value Z32 total Z64 Z64 Z64 Z64
#define ERROR(kind, text) \
	"12000000 44000000 02000000" kind "0000 05000000" text "00"
#define EXIT_7 EXIT("0100", "0200", Z32, "07000000", Z64)
#define EVENT(what, how, value)                                          \
	"24000000 45000000" what how Z32 value Z32 Z64 "02000000 787900" \
	"00000000 00"
#define PROCESS                                                                \
	"79000000 4a000000 01000000 0100 0000" Z32 Z32 Z64 Z64 Z64 Z64 Z64 Z64 \
		Z64 Z64 Z32 "64000000" Z32 Z32 Z32 Z32 "02000000 787900" Z32   \
	"00" Z32 "00"

static const struct {
	const char *name;
	const char *hex;
} lies[] = {
	/* Nothing wrong: shows that the others fail for their own reason. */
	{ "none", HELLO STARTED EXIT_7 },
	{ "magic", "10000000 01000000 48544349 01000000" Z64 STARTED EXIT_7 },
	{ "version", "10000000 01000000 48544348 09000000" Z64 STARTED EXIT_7 },
	{ "no-hello", STARTED EXIT_7 },
	{ "two-hellos", HELLO HELLO STARTED EXIT_7 },
	{ "unknown", HELLO STARTED "00000000 77000000" EXIT_7 },
	{ "of-client", HELLO STARTED "00000000 14000000" EXIT_7 },
	{ "reserved", HELLO STARTED "00000000 46000100" EXIT_7 },
	{ "huge", HELLO STARTED "ffffffff 41000000" EXIT_7 },
	{ "empty-output", HELLO STARTED "10000000 41000000" Z64 Z64 EXIT_7 },
	{ "no-started", HELLO EXIT_7 },
	{ "two-started", HELLO STARTED STARTED EXIT_7 },
	{ "id",
	  HELLO "17000000 40000000 01000000" Z32 Z64 "02000000 2e2e00" EXIT_7 },
	{ "bad-string",
	  HELLO "16000000 40000000 01000000" Z32 Z64 "09000000 6100" EXIT_7 },
	{ "gap", HELLO STARTED OUTPUT("41", "0001", "616263") EXIT(
			 "0100", "0200", Z32, "07000000", "0301000000000000") },
	{ "total", HELLO STARTED EXIT("0100", "0200", Z32, "07000000",
				      "0900000000000000") },
	{ "how", HELLO STARTED EXIT("0300", "0200", Z32, "07000000", Z64) },
	{ "state", HELLO STARTED EXIT("0100", "0000", Z32, "07000000", Z64) },
	{ "code", HELLO STARTED EXIT("0100", "0200", Z32, "00010000", Z64) },
	{ "signal", HELLO STARTED EXIT("0200", "0200", Z32, "41000000", Z64) },
	{ "flags",
	  HELLO STARTED EXIT("0100", "0200", "08000000", "07000000", Z64) },
	{ "ack",
	  HELLO STARTED "10000000 48000000 0000000000000001" Z32 Z32 EXIT_7 },
	{ "truncated", HELLO STARTED
	  "18000000 49000000 01000000" Z32
	  "0001000000000000 0001000000000000" EXIT(
		  "0100", "0200", Z32, "07000000", "0001000000000000") },
	{ "done", HELLO STARTED "00000000 46000000" },
	{ "event", HELLO STARTED EVENT("0300", "0000", "01000000") EXIT_7 },
	{ "kind", HELLO ERROR("6300", "6162636465") },
	/* Sound, but its sentence is not fit for a terminal. */
	{ "escape", HELLO ERROR("0100", "1b5b4a0a41") },
	{ "end", HELLO STARTED },
	{ "half", HELLO STARTED "38000000 43000000 0100" },
	{ "nothing", "" },
};

static const char *const event_lies[] = {
	HELLO EVENT("6300", "0000", Z32),
	HELLO EVENT("0100", "0900", Z32),
	HELLO EVENT("0600", "0000", "ff000000"),
	HELLO "ffffffff 45000000",
	HELLO EXIT_7,
	"00",
	EXIT_7,
	HELLO EVENT("0400", "0100", "07000000"),
};

static void send_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			_exit(0);
		p += n;
		len -= (size_t)n;
	}
}

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t from_hex(uint8_t *out, size_t cap, const char *hex)
{
	size_t n = 0;

	while (*hex && n < cap) {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		out[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
		hex += 2;
	}
	return n;
}

static void send_hex(int fd, const char *hex)
{
	uint8_t buf[4096];

	send_all(fd, buf, from_hex(buf, sizeof(buf), hex));
}

/* The same frame over and over. */
static void flood(int fd, const char *hex)
{
	uint8_t one[512], many[1 << 15];
	size_t len = from_hex(one, sizeof(one), hex), n = 0;

	while (n + len <= sizeof(many)) {
		memcpy(many + n, one, len);
		n += len;
	}
	for (size_t sent = 0; sent < FLOOD_MAX; sent += n / len)
		send_all(fd, many, n);
}

static void garbage(int fd)
{
	uint8_t buf[4096];

	srandom((unsigned int)getpid());
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)random();
	for (;;)
		send_all(fd, buf, sizeof(buf));
}

/* Until the client has gone. */
static void wait_for_end(int fd)
{
	char c;

	(void)shutdown(fd, SHUT_WR);
	while (recv(fd, &c, 1, 0) > 0)
		;
	_exit(0);
}

static void tell_lie(int fd, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		if (strlen(lies[i].name) != len ||
		    memcmp(lies[i].name, name, len) != 0)
			continue;
		send_hex(fd, lies[i].hex);
		wait_for_end(fd);
	}
}

/* Lies that are no mere bytes. */
__attribute__((noreturn)) static void behave(int fd, const char *name,
					     size_t len)
{
	if (len == 7 && memcmp(name, "garbage", len) == 0)
		garbage(fd);
	send_hex(fd, HELLO);
	if (len == 10 && memcmp(name, "flood-acks", len) == 0) {
		send_hex(fd, STARTED);
		flood(fd, "10000000 48000000" Z64 Z32 Z32);
	}
	if (len == 9 && memcmp(name, "flood-cut", len) == 0) {
		send_hex(fd, STARTED);
		flood(fd,
		      "18000000 49000000 01000000" Z32 Z64 "0100000000000000");
	}
	/* "silent", and whatever else. */
	for (;;)
		(void)pause();
}

static int vsock(void)
{
	return socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void ring(unsigned int port)
{
	struct sockaddr_vm sa = { .svm_family = AF_VSOCK,
				  .svm_cid = HOST_CID,
				  .svm_port = port };
	int fd = vsock();

	(void)connect(fd, (const struct sockaddr *)&sa, sizeof(sa));
	(void)close(fd);
}

static void serve_events(int fd, const char *host, unsigned int n)
{
	size_t count = sizeof(event_lies) / sizeof(*event_lies);

	if (strstr(host, "lies")) {
		send_hex(fd, event_lies[n % count]);
		wait_for_end(fd);
	}
	send_hex(fd, HELLO);
	if (strstr(host, "flood"))
		flood(fd, EVENT("0300", "0000", "01000000"));
	for (unsigned int i = 0; strstr(host, "ports") && i < PORTS; i++) {
		ring(i % 2 ? BELL : 5000 + i);
		(void)usleep(PORT_US);
	}
	for (;;)
		(void)pause();
}

static void serve(int fd, const char *host, unsigned int n)
{
	uint8_t head[32] = { 0 }; /* HELLO and the request's header */
	char body[1024];
	const char *lie;
	ssize_t len;
	size_t name;

	for (size_t at = 0; at < sizeof(head); at += (size_t)len) {
		len = recv(fd, head + at, sizeof(head) - at, 0);
		if (len <= 0)
			_exit(0);
	}
	if (head[28] == EVENTS)
		serve_events(fd, host, n);
	if (head[28] == LIST) {
		send_hex(fd, HELLO);
		flood(fd, PROCESS);
		wait_for_end(fd);
	}
	len = recv(fd, body, sizeof(body) - 1, 0);
	if (len <= 0)
		_exit(0);
	body[len] = '\0';
	lie = memmem(body, (size_t)len, "lie-", 4);
	if (!lie)
		behave(fd, "", 0);
	lie += 4;
	name = strspn(lie, "abcdefghijklmnopqrstuvwxyz-");
	tell_lie(fd, lie, name);
	behave(fd, lie, name);
}

/* The hostname is the boot message's first string, behind 8 and 24 bytes. */
static void read_hostname(char *host, size_t cap)
{
	uint8_t boot[256] = { 0 };
	int fd = open("/.hutch/boot", O_RDONLY | O_CLOEXEC);
	size_t len;

	host[0] = '\0';
	if (fd < 0 || read(fd, boot, sizeof(boot) - 1) < 40)
		return;
	(void)close(fd);
	len = boot[32];
	if (len >= cap)
		len = cap - 1;
	memcpy(host, boot + 36, len);
	host[len] = '\0';
}

int main(void)
{
	struct sockaddr_vm sa = { .svm_family = AF_VSOCK,
				  .svm_cid = VMADDR_CID_ANY,
				  .svm_port = PORT };
	int fd = vsock();
	char host[80];

	read_hostname(host, sizeof(host));
	(void)signal(SIGCHLD, SIG_IGN);
	if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 64) < 0)
		return 1;
	ring(BELL);
	for (unsigned int n = 0;; n++) {
		int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (conn < 0)
			continue;
		if (fork() == 0)
			serve(conn, host, n);
		(void)close(conn);
	}
}

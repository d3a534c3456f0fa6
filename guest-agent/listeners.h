/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/listeners.h - the child that tells what listens in the guest
 *
 * PORTS.  The kernel's tables say which sockets listen; whose they are is found
 * by looking at the descriptors of all processes, which may take a while.
 */
#ifndef HUTCH_GUEST_AGENT_LISTENERS_H
#define HUTCH_GUEST_AGENT_LISTENERS_H

#include <stdint.h>
#include <sys/types.h>

#include "common/ring.h"
#include "common/wire_port.h"

/* Sockets told of at most; others are left out. */
#define LISTENERS_MAX 4096u

/* Descriptors of processes looked at, at most, to find whose they are. */
#define LISTENERS_LOOKS_MAX (1u << 20)

/**
 * struct listener - A socket that listens
 * @inode:	Which the descriptors of its processes show; 0: unknown
 * @pid:	The first process found that has it; 0: none yet
 */
struct listener {
	uint64_t inode;
	uint16_t port;
	uint8_t family;
	uint8_t address[16];
	uint32_t pid;
	char name[WIRE_COMM_MAX + 1];
};

/**
 * listener_parse() - A line of /proc/net/tcp or tcp6
 *
 * Return: 0; -ENOENT if it tells of no listener
 */
MUST_CHECK int listener_parse(const char *line, enum wire_family family,
			      struct listener *ret);

/**
 * struct listeners_spawn - What the child needs, all of it the parent's
 * @fd:		The connection
 * @out:	What is still to be sent on it
 * @cgroup_fd:	It is born there; -1 for its parent's cgroup
 */
struct listeners_spawn {
	int fd;
	struct ring *out;
	int cgroup_fd;
};

/** listeners_spawn() - Start it. Return: pid or -errno */
MUST_CHECK pid_t listeners_spawn(const struct listeners_spawn *s);

#endif

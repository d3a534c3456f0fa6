/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/boot.h - from the kernel's initramfs to a guest one can use */
#ifndef HUTCH_GUEST_AGENT_BOOT_H
#define HUTCH_GUEST_AGENT_BOOT_H

#include "common/err.h"
#include "common/log.h"
#include "common/wire.h"
#include "guest-agent/cgroup.h"

#define BOOT_FILE     "/.hutch/boot"
#define BOOT_HOSTNAME "hutch"

/**
 * struct boot - What boot leaves behind for the agent
 * @log:	To /dev/kmsg, or the console while that is not there
 * @msg:	The boot message; its strings live as long as this
 * @buf:	What @msg points into
 * @problem:	The first step that failed, or ""
 * @failed:	What the boot message asked for and is not there, or "": then
 *		the guest is not what was asked for, and nothing is to run in it
 * @cgroups:	Folders for processes' cgroups
 * @lock_mounts: Copies of @n_lock_mounts mounts whose locks are the host's, which
 *		nobody else can reach or cover
 * @disk:	Of an overlay, what is mounted for its upper layer; -1 later
 */
struct boot {
	struct log log;
	struct msg_boot msg;
	char *buf;
	char problem[ERR_MSG_MAX];
	char failed[ERR_MSG_MAX];
	struct cgroups cgroups;
	int lock_mounts[WIRE_MOUNTS_MAX];
	unsigned int n_lock_mounts;
	int disk;
};

/** boot_hostname() - Of the VM, as the boot message has it */
static inline const char *boot_hostname(const struct msg_boot *m)
{
	return *m->hostname ? m->hostname : BOOT_HOSTNAME;
}

/**
 * boot_run() - Do all of it
 *
 * A step that fails is logged and kept as the problem, and the rest goes on:
 * an agent that serves and says what is wrong is worth more than a panic.  A
 * mount of the boot message that fails is kept as @failed.
 */
void boot_run(struct boot *b);

/** boot_problem() - Log it, and keep it if it is the first */
void boot_problem(struct boot *b, const struct err *e);

/** boot_problem_errno() - The same of errno: "mount '/proc': No such device" */
void boot_problem_errno(struct boot *b, const char *what, const char *name);

/** boot_failed() - Likewise, of what the boot message asked for */
void boot_failed(struct boot *b, const struct err *e);

/**
 * boot_write_file() - Put @text in the file @path, if it is a regular one
 * @flags:	Of open(2): O_CREAT, O_TRUNC
 *
 * Return: 0 or -errno
 */
MUST_CHECK int boot_write_file(const char *path, int flags, const char *text);

/**
 * boot_power_off() - Sync, unmount what the boot message mounted, power off
 *
 * Return: never
 */
_Noreturn void boot_power_off(const struct boot *b);

#endif

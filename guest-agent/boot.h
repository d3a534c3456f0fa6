/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/boot.h - from the kernel's initramfs to a guest one can use */
#ifndef HUTCH_GUEST_AGENT_BOOT_H
#define HUTCH_GUEST_AGENT_BOOT_H

#include "common/err.h"
#include "common/log.h"
#include "common/wire.h"
#include "guest-agent/cgroup.h"

#define BOOT_FILE     "/.hutch/boot"
#define BOOT_ROOT     "/.hutch/root"
#define BOOT_LINKS    "/.hutch/links"
#define BOOT_HOSTNAME "hutch"

/* Of BOOT_LINKS; a busybox has about 300 links in 8 KiB. */
#define BOOT_LINKS_MAX 65536u

/**
 * struct boot - What boot leaves behind for the agent
 * @log:	To /dev/kmsg, or the console while that is not there
 * @msg:	The boot message; its strings live as long as this
 * @buf:	What @msg points into
 * @problem:	The first step that failed, or ""
 * @failed:	What the boot message asked for and is not there, or "": then
 *		the guest is not what was asked for, and nothing is to run in it
 * @cgroups:	Folders for processes' cgroups
 */
struct boot {
	struct log log;
	struct msg_boot msg;
	char *buf;
	char problem[ERR_MSG_MAX];
	char failed[ERR_MSG_MAX];
	struct cgroups cgroups;
};

/**
 * boot_run() - Do all of it
 *
 * A step that fails is logged and kept as the problem, and the rest goes on:
 * an agent that serves and says what is wrong is worth more than a panic.  A
 * mount of the boot message that fails is kept as @failed.
 */
void boot_run(struct boot *b);

/**
 * boot_links() - Make hard links, in the current folder
 * @text:	Lines "OLD NEW", taken apart in place
 *
 * One system call a link here; the kernel, unpacking an archive, would look
 * up each name three times.
 *
 * Return: how many were made; -EBADMSG at a line that is not one
 */
MUST_CHECK int boot_links(char *text);

/**
 * boot_power_off() - Sync, unmount what the boot message mounted, power off
 *
 * Return: never
 */
_Noreturn void boot_power_off(const struct boot *b);

#endif

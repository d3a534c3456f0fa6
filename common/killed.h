/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/killed.h - how a guest tells the host that a thread is to wait no more
 *
 * Linux does not call back a request to virtio-fs, so that a process which waits
 * for a lock of the host's cannot be killed until it has it.  The agent
 * looks for such threads, and reads an attribute of that name, with the thread's
 * number behind it, of the share's root: docs/devices/fuse.md.  Linux lets
 * nobody ask for trusted.* who has not got CAP_SYS_ADMIN.
 */
#ifndef HUTCH_COMMON_KILLED_H
#define HUTCH_COMMON_KILLED_H

/* Of all of ours; a guest keeps none under such a name. */
#define KILLED_RESERVED "trusted.hutch."
#define KILLED_PREFIX   KILLED_RESERVED "killed."

#endif

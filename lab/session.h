/* SPDX-License-Identifier: Apache-2.0 */
/* One command that a client has run in the lab. */
#ifndef HUTCH_LAB_SESSION_H
#define HUTCH_LAB_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"

/**
 * struct lab_account - Who a command runs as
 * @uid:	User
 * @gid:	Group
 * @kvm_gid:	Supplementary group, for /dev/kvm
 */
struct lab_account {
	uid_t uid;
	gid_t gid;
	gid_t kvm_gid;
};

/**
 * struct lab_world - What a session needs to know of the lab
 * @user:	The ordinary user
 * @out:	Queue towards the keeper
 * @tree:	Project tree, open; its file system is synced at each end
 * @cache:	Cache folder, likewise
 * @cgroup:	Sessions get a cgroup each, and end with it
 */
struct lab_world {
	struct lab_account user;
	struct lab_buf out;
	int tree;
	int cache;
	bool cgroup;
};

/**
 * struct lab_stream - Output of a command
 * @fd:		Our end of the pipe or terminal, -1 once it is over
 * @credit:	Bytes that the client will still take
 * @left:	Bytes to deliver after the command's end
 */
struct lab_stream {
	int fd;
	uint32_t credit;
	uint32_t left;
};

/**
 * struct lab_session - One command
 * @id:		The keeper's number for the client, never 0
 * @pid:	Its first process, also its process group; 0 before the start
 * @args:	Pieces of LAB_ARGS, until the start
 * @in:		What the command has not yet read
 * @in_fd:	Our end of its stdin, -1 when closed
 * @in_eof:	Close @in_fd once @in is empty
 * @out:	Its stdout (or terminal) and stderr
 * @tty:	It has a terminal: @in_fd and @out[0].fd are the same
 * @ended:	The first process is gone, @code says how
 * @code:	Exit code, 128+n for signal n
 */
struct lab_session {
	uint16_t id;
	pid_t pid;
	struct lab_buf args;
	struct lab_buf in;
	int in_fd;
	bool in_eof;
	struct lab_stream out[2];
	bool tty;
	bool ended;
	uint8_t code;
};

struct lab_session *session_new(uint16_t id);
struct lab_session *session_free(struct lab_session *s);
int session_frame(struct lab_session *s, struct lab_world *w,
		  const struct lab_frame *f);
unsigned int session_poll(struct lab_session *s, const struct lab_world *w,
			  struct pollfd *ret);
int session_io(struct lab_session *s, struct lab_world *w, int fd, int events);
void session_ended(struct lab_session *s, int status);
int session_finish(struct lab_session *s, struct lab_world *w);

#endif

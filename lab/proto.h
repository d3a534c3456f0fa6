/* SPDX-License-Identifier: Apache-2.0 */
/* What the lab's host side and its server say to each other. */
#ifndef HUTCH_LAB_PROTO_H
#define HUTCH_LAB_PROTO_H

/*
 * How it works
 *
 * One byte stream (a virtio-serial port, or a socket pair where the lab is
 * only namespaces) joins the keeper on the host to the server in the lab.
 * Each client joins the keeper by a Unix socket. The same frames run on
 * both: a head of 8 bytes, then len bytes.
 *
 *	le32 len	bytes that follow, at most LAB_PAYLOAD_MAX
 *	le16 session	the keeper's number for a client; 0 is the lab itself
 *	u8 type		enum lab_type
 *	u8 arg		by type, 0 where a type has none
 *
 * A client writes session 0; the keeper fills in its number and takes it out
 * again on the way back. Every stream has a window of LAB_WINDOW bytes: its
 * sender stops when so many are not yet granted back by LAB_CREDIT. So what
 * anyone must hold for a slow reader is bounded, and a stream that stands
 * still stops no other.
 */

#define LAB_HEAD 8u
/* With its head a frame fills the most that the port takes in one write. */
#define LAB_PAYLOAD_MAX (32768u - LAB_HEAD)
#define LAB_WINDOW      (256u << 10)
/* What a command may have in arguments and environment, in bytes. */
#define LAB_START_MAX    (2u << 20)
#define LAB_SESSIONS_MAX 64u
/* Raised with every change of what is on the wire. */
#define LAB_VERSION 1

enum lab_type {
	/* Client to server */
	LAB_ARGS = 1, /* a piece of what LAB_START runs */
	LAB_START,    /* arg: LAB_START_* flags */
	LAB_STDIN,    /* bytes */
	LAB_STDIN_EOF,
	LAB_SIGNAL, /* arg: signal for the command's process group */
	LAB_KILL,  /* end all that the command started; arg 1: client is gone */
	LAB_WINCH, /* le16 rows, le16 columns */
	LAB_BROKEN, /* arg: stream that nobody reads any more, 1 or 2 */
	/* Both ways */
	LAB_CREDIT, /* arg: stream (0, 1, 2); le32 bytes taken */
	/* Server to client */
	LAB_READY,   /* session 0: the lab is up; arg: LAB_VERSION */
	LAB_STARTED, /* the command's process exists */
	LAB_STDOUT,  /* bytes */
	LAB_STDERR,  /* bytes */
	LAB_EXIT,    /* arg: exit code; the last frame of a session */
	LAB_FAIL,    /* text; the last frame of a session */
	/* Client to keeper, not passed on */
	LAB_DOWN,   /* end the lab; the keeper closes the connection */
	LAB_STATUS, /* and the answer, text */
};

enum lab_start_flags {
	LAB_START_TTY = 1,
	LAB_START_ROOT = 2,
};

/*
 * What the pieces of LAB_ARGS make together: le16 rows, le16 columns (0 if
 * there is no terminal), le32 number of arguments, le32 number of environment
 * strings, then as strings with their NUL the folder, the arguments and the
 * environment.
 */
#define LAB_ARGS_HEAD 12u

#endif

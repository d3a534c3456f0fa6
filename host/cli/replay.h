/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/cli/replay.h - what a terminal is shown of the past, without questions
 *
 * A program asks its terminal things: where the cursor is, what it is called,
 * which colours it has.  The terminal types the answer.  One that is shown the
 * past of a program would answer once more, and the answers would be input that
 * nobody waits for.  So the questions are left out of what is replayed, and of
 * that alone: a program that asks now is to have its answer.
 *
 * How it works.  Bytes pass, save those of a control sequence, which are held
 * until it is whole.  A question is then dropped, as is one that another
 * breaks off, which a terminal does not obey; all else passes, as does one that
 * is longer than any question (REPLAY_HOLD_MAX), or that is cut by the end of
 * the replay.  Only the forms that begin with ESC are known, and ENQ.
 */
#ifndef HUTCH_CLI_REPLAY_H
#define HUTCH_CLI_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cli/base.h"

#define REPLAY_HOLD_MAX 1024u

enum replay_state {
	REPLAY_TEXT,
	REPLAY_ESC,    /* ESC is held */
	REPLAY_CSI,    /* ESC [ and more is held */
	REPLAY_STRING, /* ESC and one of ]P_X^, and more, is held */
	REPLAY_LONG    /* such a string, that is too long: it passes */
};

/**
 * struct replay - How far it is
 * @until:	Cursor of the first byte that is not of the past
 * @next:	Of the next byte, if none is missing
 * @esc:	In a string: its last byte was ESC
 * @held:	@n bytes of a sequence that is not whole
 */
struct replay {
	uint64_t until;
	uint64_t next;
	enum replay_state state;
	bool esc;
	size_t n;
	char held[REPLAY_HOLD_MAX];
};

/**
 * replay_pass() - Take the next piece of the stream
 * @cursor:	Of its first byte; a piece that does not follow the one before
 *		ends what is held
 * @out:	What of it is shown; room for @len + REPLAY_HOLD_MAX bytes
 *
 * Return: bytes at @out
 */
size_t replay_pass(struct replay *r, uint64_t cursor, const char *in,
		   size_t len, char *out);

/** replay_release() - What is held, as it is. Return: bytes at @out */
size_t replay_release(struct replay *r, char *out);

#endif

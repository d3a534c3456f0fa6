/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/input.h - standard input on its way to a command in a VM */
#ifndef HUTCH_CLI_INPUT_H
#define HUTCH_CLI_INPUT_H

#include <stdbool.h>

#include "host/cli/base.h"
#include "host/cli/keys.h"
#include "host/lib/hutch.h"

#define INPUT_MAX 65536u

/**
 * struct input - What was read and not handed over yet
 * @open:	More may come
 * @ended:	The end is still to be told
 * @left:	The keys that leave were typed
 * @keys:	Those keys
 * @due_ms:	When those held are passed on, CLOCK_MONOTONIC
 */
struct input {
	bool open;
	bool ended;
	bool left;
	struct keys keys;
	int64_t due_ms;
	size_t off, len;
	char buf[INPUT_MAX + KEYS_MAX];
};

/** input_wants() - Whether standard input is to be polled */
bool input_wants(const struct input *in);

/** input_wait_ms() - How long held keys may wait for more, or -1 */
int input_wait_ms(const struct input *in);

/** input_late() - If they have waited that long, pass them on */
void input_late(struct input *in);

/** input_read() - Read once, after poll() */
void input_read(struct input *in);

/** input_tell() - Hand over what the guest has room for */
void input_tell(struct input *in, struct hutch_exec *x);

#endif

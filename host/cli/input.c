/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/input.c - see input.h */
#include <errno.h>
#include <time.h>

#include "host/cli/input.h"

bool input_wants(const struct input *in)
{
	return in->open && in->len == 0;
}

static int64_t now_ms(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

int input_wait_ms(const struct input *in)
{
	int64_t left;

	if (in->keys.held == 0 || in->len > 0)
		return -1;
	left = in->due_ms - now_ms();
	return left > 0 ? (int)MIN(left, KEYS_WAIT_MS) : 0;
}

void input_late(struct input *in)
{
	if (in->open && input_wait_ms(in) == 0) {
		in->off = 0;
		in->len = keys_release(&in->keys, in->buf);
	}
}

void input_read(struct input *in)
{
	char typed[INPUT_MAX];
	ssize_t n = read(STDIN_FILENO, typed, sizeof(typed));

	in->off = 0;
	if (n > 0) {
		in->len = keys_pass(&in->keys, typed, (size_t)n, in->buf,
				    &in->left);
		in->due_ms = now_ms() + KEYS_WAIT_MS;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		in->len = keys_release(&in->keys, in->buf);
		in->open = false;
		in->ended = true;
	}
}

void input_tell(struct input *in, struct hutch_exec *x)
{
	while (in->len > 0) {
		ssize_t n = hutch_exec_write(x, in->buf + in->off, in->len);

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			/* Nobody reads it: nor do we. */
			in->open = in->ended = false;
			in->len = 0;
			return;
		}
		in->off += (size_t)n;
		in->len -= (size_t)n;
	}
	/* Everything but "once more later" is told, or never to be told. */
	if (in->ended && hutch_exec_close_stdin(x) != -EAGAIN)
		in->ended = false;
}

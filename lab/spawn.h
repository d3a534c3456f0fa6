/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a command in the lab. */
#ifndef HUTCH_LAB_SPAWN_H
#define HUTCH_LAB_SPAWN_H

#include <stddef.h>
#include <stdint.h>

#include "session.h"

int spawn_command(struct lab_session *s, const struct lab_world *w,
		  uint8_t flags);
void spawn_kill(const struct lab_session *s, const struct lab_world *w);
void spawn_forget(const struct lab_session *s, const struct lab_world *w);
int spawn_resize(int fd, const uint8_t *rows_cols);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/keeper_control.h - a keeper of which only its line to hutch-net is there */
#ifndef HUTCH_TESTS_LIB_KEEPER_CONTROL_H
#define HUTCH_TESTS_LIB_KEEPER_CONTROL_H

#include <check.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "host/keeper/keeper.h"

/** keeper_control() - Such a one, the caller's; @ret_theirs: hutch-net's end */
static inline struct keeper *keeper_control(int *ret_theirs)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int sv[2];

	ck_assert_ptr_nonnull(k);
	net_init(&k->net);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sv), 0);
	k->net.control = sv[0];
	*ret_theirs = sv[1];
	return k;
}

#endif

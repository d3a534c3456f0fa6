/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/ports.h - what an agent tells of ports, taken apart */
#ifndef HUTCH_HOST_LIB_PORTS_H
#define HUTCH_HOST_LIB_PORTS_H

#include "common/err.h"
#include "common/wire.h"
#include "host/lib/hutch.h"

/**
 * ports_parse() - A PORT frame as what hutch_ports() hands out
 * @ret:	For hutch_ports_free(), in a list
 *
 * Return: 0; -EBADMSG with a sentence; -ENOMEM
 */
MUST_CHECK int ports_parse(const struct wire_frame *f, struct hutch_port **ret,
			   struct err *e);

#endif

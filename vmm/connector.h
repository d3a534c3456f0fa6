/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/connector.h - a child that makes the guest's connects, when used alone */
#ifndef HUTCH_VMM_CONNECTOR_H
#define HUTCH_VMM_CONNECTOR_H

#include "common/err.h"

/**
 * connector_start() - Fork a child that serves until we are gone
 * @vsock_path:	A connect to port 80 goes to the Unix socket "<path>_80"
 *
 * Context: before threads and before the jail.
 * Return: our end of its socket, or -errno with a sentence
 */
MUST_CHECK int connector_start(const char *vsock_path, struct err *e);

#endif

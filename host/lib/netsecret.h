/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/netsecret.h - what a policy injects: from the environment, into memory
 */
#ifndef HUTCH_HOST_LIB_NETSECRET_H
#define HUTCH_HOST_LIB_NETSECRET_H

#include <jansson.h>

#include "common/err.h"

/**
 * netsecret_expand() - Put the values of variables into what rules inject
 * @policy:	As it was written; "${env:NAME}" elsewhere is left, and refused by
 *		whoever reads the rule
 *
 * Return: 0; -EINVAL: a variable that is not there or empty, or a header that carries a
 *         credential by its name and has no reference; -E2BIG; -ENOMEM. Some may
 *         be in @policy then: netsecret_wipe()
 */
MUST_CHECK int netsecret_expand(json_t *policy, struct err *e);

/** netsecret_wipe() - Overwrite all strings in a value, as jansson does not */
void netsecret_wipe(json_t *j);

#endif

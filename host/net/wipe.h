/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/wipe.h - memory that is overwritten when it is given back
 *
 * Credentials pass through libraries that keep them in buffers of their own for a
 * while, and free those as they are. In a process that is ours alone they can be
 * given another free().
 */
#ifndef HUTCH_HOST_NET_WIPE_H
#define HUTCH_HOST_NET_WIPE_H

#include <stddef.h>

/**
 * wipe_libraries() - Have jansson and OpenSSL use what is below
 *
 * Context: before either of them has allocated anything.
 */
void wipe_libraries(void);

void *wipe_malloc(size_t n);

/** wipe_realloc() - As realloc(); the old place is always overwritten */
void *wipe_realloc(void *p, size_t n);

void wipe_free(void *p);

#endif

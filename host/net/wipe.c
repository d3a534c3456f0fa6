/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/wipe.c - see wipe.h */
#include <jansson.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <string.h>

#include "common/base.h"
#include "host/net/wipe.h"

void *wipe_malloc(size_t n)
{
	return malloc(n);
}

void wipe_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

void *wipe_realloc(void *p, size_t n)
{
	void *q;

	if (n == 0) {
		wipe_free(p);
		return NULL;
	}
	q = malloc(n);
	if (q && p) {
		memcpy(q, p, MIN(n, malloc_usable_size(p)));
		wipe_free(p);
	}
	return q;
}

static void *ssl_malloc(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return wipe_malloc(n);
}

static void *ssl_realloc(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return wipe_realloc(p, n);
}

static void ssl_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	wipe_free(p);
}

void wipe_libraries(void)
{
	json_set_alloc_funcs(wipe_malloc, wipe_free);
	bug_on(CRYPTO_set_mem_functions(ssl_malloc, ssl_realloc, ssl_free) !=
	       1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* common/base.h - the few macros every file may use; includes nothing of ours */
#ifndef HUTCH_COMMON_BASE_H
#define HUTCH_COMMON_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))
#define container_of(p, type, member) \
	((type *)(void *)((char *)(p)-offsetof(type, member)))

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK        __attribute__((warn_unused_result))
#define AUTO(fn)          __attribute__((cleanup(fn)))
#define auto_free         AUTO(base_freep)
#define auto_fd           AUTO(base_closep)

/*
 * Broken invariant of ours, never of the guest's or a client's: say where and
 * stop.  Not assert(), so that it stays in release builds.
 */
#define bug_on(cond)                                         \
	do {                                                 \
		if (__builtin_expect(!!(cond), 0))           \
			base_bug(__FILE__, __LINE__, #cond); \
	} while (0)

__attribute__((noreturn)) void base_bug(const char *file, int line,
					const char *cond);

/** base_is_dots() - Whether a name is "." or "..", as each folder has them */
static inline int base_is_dots(const char *s)
{
	return s[0] == '.' && (!s[1] || (s[1] == '.' && !s[2]));
}

static inline void base_freep(void *pp)
{
	free(*(void **)pp);
}

static inline void base_closep(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/** take_fd() - Move a descriptor out of an auto_fd variable */
static inline int take_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

/** drop_fd() - Close a descriptor if it is one; then it is -1 */
static inline void drop_fd(int *fd)
{
	base_closep(fd);
	*fd = -1;
}

/** take_ptr() - Move a pointer out of an auto_free variable; keeps the type */
#define take_ptr(p)                       \
	__extension__({                   \
		__typeof__(p) p_ = (p);   \
		__typeof__(*p_) v_ = *p_; \
		*p_ = NULL;               \
		v_;                       \
	})

#endif

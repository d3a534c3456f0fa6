/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/jail/jail.c - see jail.h */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "vmm/jail/filters.h"
#include "vmm/jail/jail.h"

/* The lowest of @keep that is not below @from; INT_MAX if there is none. */
static int next_kept(const int *keep, unsigned int n, int from)
{
	int best = INT_MAX;

	for (unsigned int i = 0; i < n; i++)
		if (keep[i] >= from)
			best = MIN(best, keep[i]);
	return best;
}

void jail_close_others(int first, const int *keep, unsigned int n)
{
	int from = first;

	for (;;) {
		int kept = next_kept(keep, n, from);

		/* Only a kernel before 5.9 has no close_range(). */
		if (kept > from)
			(void)syscall(SYS_close_range, (unsigned int)from,
				      (unsigned int)(kept - 1), 0u);
		if (kept == INT_MAX)
			return;
		from = kept + 1;
	}
}

/* Needs CAP_SETPCAP, which an ordinary user has not; nor has he any to drop. */
static void drop_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int jail_drop(struct err *e)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	drop_bounding_set();
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		return err_set(e, -errno, "cannot drop capabilities: %s",
			       strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "no_new_privs: %s", strerror(errno));
	return 0;
}

int jail_enter(enum jail_kind kind, struct err *e)
{
	const struct filters_program *p = &filters_programs[kind];
	struct sock_filter code[FILTERS_LEN_MAX];
	struct sock_fprog prog = { .len = p->len, .filter = code };

	bug_on(p->len > FILTERS_LEN_MAX);
	memcpy(code, p->code, p->len * sizeof(code[0]));
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_set(e, -errno, "cannot install the seccomp list: %s",
			       strerror(errno));
	return 0;
}

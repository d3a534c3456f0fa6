/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/netlive.c - the network of a VM that runs: hutch_net_*() */
#include <errno.h>
#include <string.h>

#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/memfile.h"
#include "host/lib/netpolicy.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define NET_FLAGS HUTCH_NET_CUT

/* Asks the keeper of VM @name. A VM that has ended has no network. */
static int ask(struct hutch *h, const char *name, const char *verb,
	       const int fds[2], int *ret_fd, struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	AUTO(record_freep) struct hutch_record *rec = NULL;
	/* Of one that never was this says so. */
	int r = vmdir_read(h, name, &rec, e);

	if (r < 0)
		return r;
	r = vmdir_open(h, name, &d, e);
	if (r == 0)
		r = d.run_fd < 0 ? -ENOENT
				 : kcall_pass(d.run_fd, verb, fds,
					      HUTCH_ANSWER_MS, ret_fd, e);
	if (r == -ENOENT || r == -ECONNREFUSED)
		r = err_set(e, -ESRCH, "VM '%s' has ended", name);
	vmdir_close(&d);
	return r;
}

int hutch_net_show(struct hutch *h, const char *name, char **ret,
		   struct hutch_err *e)
{
	auto_fd int fd = -1;
	int r = ask(h, name, "net-show", NULL, &fd, err_of(e));

	if (r < 0)
		return r;
	if (memfile_read(fd, NETPOLICY_ANSWER_MAX, ret) < 0)
		return err_set(err_of(e), -EBADMSG,
			       "the VM's keeper answers nonsense");
	return 0;
}

int hutch_net_set(struct hutch *h, const char *name, const char *policy,
		  unsigned int flags, struct hutch_err *e)
{
	char *message = NULL;
	auto_fd int given = -1, kept = -1, none = -1;
	int r = 0;

	if (flags & ~NET_FLAGS)
		return err_set(err_of(e), -EINVAL, "net: unknown flags %#x",
			       flags & ~NET_FLAGS);
	r = netpolicy_change(policy, !!(flags & HUTCH_NET_CUT), &message,
			     err_of(e));
	if (r < 0)
		return r;
	given = memfile_make("hutch-net", message, strlen(message), err_of(e));
	netpolicy_free(message);
	kept = given < 0 ? given
			 : memfile_make("hutch-net", policy, strlen(policy),
					err_of(e));
	if (kept < 0)
		return kept;
	return ask(h, name, "net-set", (const int[2]){ given, kept }, &none,
		   err_of(e));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/session.c - see session.h */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/words.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/record.h"
#include "host/lib/session.h"
#include "host/lib/vmdir.h"

void session_init(struct session *s, struct hutch *h, const char *name)
{
	*s = (struct session){ .h = h, .keeper_fd = -1, .conn.fd = -1 };
	memcpy(s->name, name, strlen(name) + 1);
}

/* Nobody answers at the VM's socket: is there such a VM, how did it end? */
static int explain_no_vm(struct session *s, struct err *e)
{
	const struct kcall_vm vm = { s->h, s->name, NULL };
	int r = kcall_await_end(&vm, -1, HUTCH_ANSWER_MS, &s->rec, e);

	return r < 0 ? r : kcall_ended(s->rec, e);
}

int session_open(struct session *s, struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	struct err ignored;
	int r = vmdir_open(s->h, s->name, &d, e);

	if (r == 0)
		r = d.run_fd < 0 ? -ENOENT
				 : conn_open(&s->conn, d.run_fd, 0, e);
	/* Without a keeper's room the record will have to do. */
	if (r == 0)
		s->keeper_fd =
			kcall_send(d.run_fd, "wait", "for", "exit", &ignored);
	vmdir_close(&d);
	if (r == -ENOENT || r == -ECONNREFUSED)
		return explain_no_vm(s, e);
	return r;
}

bool session_is_up(const struct session *s)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	struct vmdir d = VMDIR_INIT;
	bool up;

	if (vmdir_open(s->h, s->name, &d, NULL) < 0)
		return false;
	up = d.state_fd >= 0 && record_read(d.state_fd, &rec, NULL) == 0 &&
	     rec->ready_ns != 0;
	vmdir_close(&d);
	return up;
}

int session_send(struct session *s, const void *frame, size_t len,
		 struct err *e)
{
	int r = conn_queue(&s->conn, frame, len);

	if (r == 0)
		r = conn_flush(&s->conn);
	if (r == 0 || r == -EAGAIN || r == -EPIPE)
		return 0;
	return err_set(e, r, "request to VM '%s': %s", s->name, strerror(-r));
}

int session_broken(struct session *s, const char *what, struct err *e)
{
	const struct kcall_vm vm = { s->h, s->name, NULL };
	int r = kcall_await_end(&vm, s->keeper_fd, HUTCH_ANSWER_MS, &s->rec, e);

	if (r == 0)
		return kcall_ended(s->rec, e);
	if (r == -ETIMEDOUT)
		return err_set(e, -ECONNRESET,
			       "the agent of VM '%s' closed the connection "
			       "before %s",
			       s->name, what);
	return r;
}

int session_await(struct session *s, uint64_t end_ns, struct wire_frame *ret,
		  struct err *e)
{
	for (;;) {
		int r = conn_next(&s->conn, ret, e);

		if (r == -EPIPE)
			return session_broken(s, "it answered", e);
		if (r == -EBADMSG)
			return err_wrap(e, r,
					"VM '%s' sent what is not the protocol",
					s->name);
		if (r != 0)
			return MIN(r, 0);
		r = deadline_poll(s->conn.fd, conn_poll_events(&s->conn),
				  end_ns);
		if (r < 0)
			return err_set(e, r, "poll: %s", strerror(-r));
		if (r == 0)
			return err_set(e, -ETIMEDOUT, "VM '%s' does not answer",
				       s->name);
		(void)conn_flush(&s->conn);
	}
}

void session_close(struct session *s)
{
	conn_close(&s->conn);
	drop_fd(&s->keeper_fd);
	hutch_record_free(s->rec);
	s->rec = NULL;
}

int session_main(struct hutch *h, const char *name, const char **ret,
		 struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = vmdir_read(h, name, &rec, e);

	if (r < 0)
		return r;
	if (!rec->argv)
		return err_set(e, -ENOENT, "VM '%s' has no main process", name);
	*ret = SESSION_MAIN;
	return 0;
}

int session_check_proc(const char *proc, struct err *e)
{
	char q[WORDS_NAME_MAX + 20];

	if (words_name_ok(proc))
		return 0;
	return err_set(e, -EINVAL,
		       "process '%s': use 1 to %d of a-z, 0-9 and '-', not "
		       "starting with '-'",
		       log_escape(q, sizeof(q), proc, strlen(proc)),
		       WORDS_NAME_MAX);
}

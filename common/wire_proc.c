/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_proc.c - requests about processes, both ways; see wire_proc.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"
#include "common/wire_proc.h"
#include "common/words.h"

int wire_attach_parse(const void *p, size_t len, struct msg_attach *ret,
		      struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_attach *w = rd_bytes(&rd, sizeof(*w));

	ret->id = rd_str(&rd);
	if (!w || rd_end(&rd))
		return wire_malformed(e, "ATTACH");
	ret->flags = le32_get(w->flags);
	ret->stdout_from = le64_get(w->stdout_from);
	ret->stderr_from = le64_get(w->stderr_from);
	if (le32_get(w->reserved))
		return wire_reserved_set(e, "ATTACH");
	if (ret->flags & ~WIRE_ATTACH_FLAGS)
		return wire_bad_flags(e, "ATTACH",
				      ret->flags & ~WIRE_ATTACH_FLAGS);
	if (ret->stdout_from > INT64_MAX || ret->stderr_from > INT64_MAX)
		return err_set(e, -EBADMSG, "ATTACH: a cursor is too large");
	if (!words_name_ok(ret->id))
		return wire_no_name(e, "ATTACH");
	return 0;
}

void wire_attach_put(struct wr *wr, const struct msg_attach *m)
{
	wire_head_put(wr, WIRE_ATTACH,
		      sizeof(struct wire_attach) + wire_str_size(m->id));
	wr_le32(wr, m->flags);
	wr_le32(wr, 0);
	wr_le64(wr, m->stdout_from);
	wr_le64(wr, m->stderr_from);
	wr_str(wr, m->id);
}

int wire_list_parse(const void *p, size_t len, struct msg_list *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->flags = rd_le32(&rd);
	reserved = rd_le32(&rd);
	ret->id = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "LIST");
	if (reserved)
		return wire_reserved_set(e, "LIST");
	if (ret->flags & ~WIRE_LIST_FLAGS)
		return wire_bad_flags(e, "LIST", ret->flags & ~WIRE_LIST_FLAGS);
	if (*ret->id && !words_name_ok(ret->id))
		return wire_no_name(e, "LIST");
	return 0;
}

void wire_list_put(struct wr *wr, const struct msg_list *m)
{
	wire_head_put(wr, WIRE_LIST, 8 + wire_str_size(m->id));
	wr_le32(wr, m->flags);
	wr_le32(wr, 0);
	wr_str(wr, m->id);
}

int wire_kill_parse(const void *p, size_t len, struct msg_kill *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_kill *w = rd_bytes(&rd, sizeof(*w));
	int r;

	ret->id = rd_str(&rd);
	if (!w || rd_end(&rd))
		return wire_malformed(e, "KILL");
	if (le16_get(w->reserved) || le32_get(w->reserved2))
		return wire_reserved_set(e, "KILL");
	ret->signo = le32_get(w->signo);
	ret->grace_ms = le32_get(w->grace_ms);
	r = wire_signal_check("KILL", ret->signo, le16_get(w->scope), e);
	if (r == 0)
		r = wire_grace_check("KILL", ret->grace_ms, e);
	if (r < 0)
		return r;
	ret->scope = (enum wire_scope)le16_get(w->scope);
	if (ret->grace_ms && ret->scope != WIRE_SCOPE_TREE)
		return err_set(e, -EBADMSG,
			       "KILL: a grace is for the whole tree only");
	if (!words_name_ok(ret->id))
		return wire_no_name(e, "KILL");
	return 0;
}

void wire_kill_put(struct wr *wr, const struct msg_kill *m)
{
	wire_head_put(wr, WIRE_KILL,
		      sizeof(struct wire_kill) + wire_str_size(m->id));
	wr_le32(wr, m->signo);
	wr_le16(wr, (uint16_t)m->scope);
	wr_le16(wr, 0);
	wr_le32(wr, m->grace_ms);
	wr_le32(wr, 0);
	wr_str(wr, m->id);
}

int wire_drop_parse(const void *p, size_t len, struct msg_drop *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->id = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "DROP");
	if (!words_name_ok(ret->id))
		return wire_no_name(e, "DROP");
	return 0;
}

void wire_drop_put(struct wr *wr, const struct msg_drop *m)
{
	wire_head_put(wr, WIRE_DROP, wire_str_size(m->id));
	wr_str(wr, m->id);
}

int wire_wait_port_parse(const void *p, size_t len, struct msg_wait_port *ret,
			 struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->port = rd_le16(&rd);
	reserved = rd_le16(&rd);
	reserved |= rd_le32(&rd);
	ret->id = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "WAIT_PORT");
	if (reserved)
		return wire_reserved_set(e, "WAIT_PORT");
	if (ret->port == 0)
		return err_set(e, -EBADMSG, "WAIT_PORT: 0 is no port");
	if (*ret->id && !words_name_ok(ret->id))
		return wire_no_name(e, "WAIT_PORT");
	return 0;
}

void wire_wait_port_put(struct wr *wr, const struct msg_wait_port *m)
{
	wire_head_put(wr, WIRE_WAIT_PORT, 8 + wire_str_size(m->id));
	wr_le16(wr, m->port);
	wr_le16(wr, 0);
	wr_le32(wr, 0);
	wr_str(wr, m->id);
}

int wire_truncated_parse(const void *p, size_t len, struct msg_truncated *ret,
			 struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_truncated *w = rd_bytes(&rd, sizeof(*w));

	if (!w || rd_end(&rd))
		return wire_malformed(e, "TRUNCATED");
	*ret = (struct msg_truncated){ .stream = le16_get(w->stream),
				       .cursor = le64_get(w->cursor),
				       .lost = le64_get(w->lost) };
	if (le16_get(w->reserved) || le32_get(w->reserved2))
		return wire_reserved_set(e, "TRUNCATED");
	if (ret->stream != 1 && ret->stream != 2)
		return err_set(e, -EBADMSG, "TRUNCATED: unknown stream %u",
			       ret->stream);
	if (ret->cursor > INT64_MAX)
		return err_set(e, -EBADMSG,
			       "TRUNCATED: the cursor is too large");
	if (ret->lost == 0 || ret->lost > ret->cursor)
		return err_set(e, -EBADMSG,
			       "TRUNCATED: %llu bytes lost before byte %llu",
			       (unsigned long long)ret->lost,
			       (unsigned long long)ret->cursor);
	return 0;
}

void wire_truncated_put(struct wr *wr, const struct msg_truncated *m)
{
	wire_head_put(wr, WIRE_TRUNCATED, sizeof(struct wire_truncated));
	wr_le16(wr, (uint16_t)m->stream);
	wr_le16(wr, 0);
	wr_le32(wr, 0);
	wr_le64(wr, m->cursor);
	wr_le64(wr, m->lost);
}

static int process_check_state(const struct msg_process *m, struct err *e)
{
	if (m->flags & ~WIRE_PROC_FLAGS)
		return wire_bad_flags(e, "PROCESS",
				      m->flags & ~WIRE_PROC_FLAGS);
	switch (m->state) {
	case WIRE_PROC_RUNNING:
		if (m->how || m->value || m->end_ns)
			return err_set(e, -EBADMSG,
				       "PROCESS: it runs and has an end");
		return 0;
	case WIRE_PROC_LINGERING:
	case WIRE_PROC_EXITED:
		return wire_end_check("PROCESS", (uint16_t)m->how,
				      m->flags & WIRE_EXIT_FLAGS, m->value, e);
	default:
		return err_set(e, -EBADMSG, "PROCESS: unknown state %u",
			       (unsigned int)m->state);
	}
}

static int process_check(const struct msg_process *m, struct err *e)
{
	int r = process_check_state(m, e);

	if (r == 0)
		r = wire_time_check("PROCESS", m->start_ns, e);
	if (r == 0)
		r = wire_time_check("PROCESS", m->end_ns, e);
	if (r == 0)
		r = wire_cut_check("PROCESS", m->stdout_cut, m->stdout_total,
				   e);
	if (r == 0)
		r = wire_cut_check("PROCESS", m->stderr_cut, m->stderr_total,
				   e);
	if (r == 0 && m->cpu_weight > WIRE_WEIGHT_MAX)
		r = err_set(e, -EBADMSG, "PROCESS: cpu weight %u is over %u",
			    m->cpu_weight, WIRE_WEIGHT_MAX);
	return r;
}

static int process_check_strings(const struct msg_process *m, struct err *e)
{
	if (!words_name_ok(m->id))
		return wire_no_name(e, "PROCESS");
	if (strlen(m->user) > WIRE_USER_MAX)
		return wire_too_long(e, "PROCESS: user", WIRE_USER_MAX);
	if (strlen(m->cwd) > WIRE_PATH_MAX)
		return wire_too_long(e, "PROCESS: cwd", WIRE_PATH_MAX);
	return wire_env_check("PROCESS", m->env, m->envc, e);
}

/* The strings of PROCESS; @rd stands behind the fixed part. */
static int process_parse_strings(struct rd *rd, struct msg_process *m,
				 struct err *e)
{
	int r;

	m->id = rd_str(rd);
	m->user = rd_str(rd);
	m->cwd = rd_str(rd);
	if (rd->bad || !wire_strs_fit(rd, m->argc) ||
	    !wire_strs_fit(rd, (size_t)m->argc + m->envc))
		return wire_malformed(e, "PROCESS");
	m->argv = calloc((size_t)m->argc + m->envc + 2, sizeof(*m->argv));
	if (!m->argv)
		return err_set(e, -ENOMEM, "PROCESS: out of memory");
	m->env = m->argv + m->argc + 1;
	wire_read_strs(rd, m->argv, m->argc);
	wire_read_strs(rd, m->env, m->envc);
	r = rd_end(rd) ? wire_malformed(e, "PROCESS")
		       : process_check_strings(m, e);
	if (r < 0)
		wire_process_done(m);
	return r;
}

int wire_process_parse(const void *p, size_t len, struct msg_process *ret,
		       struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_process *w = rd_bytes(&rd, sizeof(*w));
	int r;

	if (!w)
		return wire_malformed(e, "PROCESS");
	*ret = (struct msg_process){
		.pid = le32_get(w->pid),
		.state = (enum wire_proc_state)le16_get(w->state),
		.how = (enum wire_how)le16_get(w->how),
		.flags = le32_get(w->flags),
		.value = le32_get(w->value),
		.start_ns = le64_get(w->start_ns),
		.end_ns = le64_get(w->end_ns),
		.timeout_ms = le64_get(w->timeout_ms),
		.stdout_total = le64_get(w->stdout_total),
		.stderr_total = le64_get(w->stderr_total),
		.stdout_cut = le64_get(w->stdout_cut),
		.stderr_cut = le64_get(w->stderr_cut),
		.memory = le64_get(w->memory),
		.pids = le32_get(w->pids),
		.cpu_weight = le32_get(w->cpu_weight),
		.attached = le32_get(w->attached),
		.argc = le32_get(w->argc),
		.envc = le32_get(w->envc),
		.grace_ms = le32_get(w->grace_ms),
	};
	r = wire_grace_check("PROCESS", ret->grace_ms, e);
	if (r == 0)
		r = process_check(ret, e);
	return r < 0 ? r : process_parse_strings(&rd, ret, e);
}

void wire_process_done(struct msg_process *m)
{
	free(m->argv);
	m->argv = NULL;
	m->env = NULL;
}

size_t wire_process_size(const struct msg_process *m)
{
	return WIRE_HDR_LEN + sizeof(struct wire_process) +
	       wire_str_size(m->id) + wire_str_size(m->user) +
	       wire_str_size(m->cwd) + wire_strs_size(m->argv, m->argc) +
	       wire_strs_size(m->env, m->envc);
}

void wire_process_put(struct wr *wr, const struct msg_process *m)
{
	wire_head_put(wr, WIRE_PROCESS, wire_process_size(m) - WIRE_HDR_LEN);
	wr_le32(wr, m->pid);
	wr_le16(wr, (uint16_t)m->state);
	wr_le16(wr, (uint16_t)m->how);
	wr_le32(wr, m->flags);
	wr_le32(wr, m->value);
	wr_le64(wr, m->start_ns);
	wr_le64(wr, m->end_ns);
	wr_le64(wr, m->timeout_ms);
	wr_le64(wr, m->stdout_total);
	wr_le64(wr, m->stderr_total);
	wr_le64(wr, m->stdout_cut);
	wr_le64(wr, m->stderr_cut);
	wr_le64(wr, m->memory);
	wr_le32(wr, m->pids);
	wr_le32(wr, m->cpu_weight);
	wr_le32(wr, m->attached);
	wr_le32(wr, m->argc);
	wr_le32(wr, m->envc);
	wr_le32(wr, m->grace_ms);
	wr_str(wr, m->id);
	wr_str(wr, m->user);
	wr_str(wr, m->cwd);
	wire_strs_put(wr, m->argv, m->argc);
	wire_strs_put(wr, m->env, m->envc);
}

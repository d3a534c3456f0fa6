/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_put.c - compose frames of the agent protocol; see wire.h */
#include <string.h>

#include "common/wire_check.h"
#include "common/wire_proc.h"

void wire_head_put(struct wr *wr, enum wire_type type, size_t len)
{
	bug_on(len > WIRE_MSG_MAX);
	wr_le32(wr, (uint32_t)len);
	wr_le16(wr, (uint16_t)type);
	wr_le16(wr, 0);
}

void wire_empty_put(struct wr *wr, enum wire_type type)
{
	wire_head_put(wr, type, 0);
}

/* Where a frame too large for the protocol is refused, not just by a cap. */
static bool head_put_checked(struct wr *wr, enum wire_type type, size_t size)
{
	if (size - WIRE_HDR_LEN > WIRE_MSG_MAX) {
		wr->bad = true;
		return false;
	}
	wire_head_put(wr, type, size - WIRE_HDR_LEN);
	return true;
}

void wire_hello_put(struct wr *wr, const struct msg_hello *m)
{
	wire_head_put(wr, WIRE_HELLO, sizeof(struct wire_hello));
	wr_le32(wr, WIRE_MAGIC);
	wr_le16(wr, m->version);
	wr_le16(wr, 0);
	wr_le64(wr, m->features);
}

size_t wire_exec_size(const struct msg_exec *m)
{
	return WIRE_HDR_LEN + sizeof(struct wire_exec) + wire_str_size(m->id) +
	       wire_str_size(m->user) + wire_str_size(m->cwd) +
	       wire_strs_size(m->argv, m->argc) +
	       wire_strs_size(m->env, m->envc);
}

void wire_exec_put(struct wr *wr, const struct msg_exec *m)
{
	if (!head_put_checked(wr, WIRE_EXEC, wire_exec_size(m)))
		return;
	wr_le32(wr, m->flags);
	wr_le32(wr, m->grace_ms);
	wr_le64(wr, m->timeout_ms);
	wr_le16(wr, m->cols);
	wr_le16(wr, m->rows);
	wr_le32(wr, m->argc);
	wr_le32(wr, m->envc);
	wr_le32(wr, 0);
	wr_le32(wr, m->ring);
	wr_le32(wr, m->pids);
	wr_le64(wr, m->memory);
	wr_le32(wr, m->cpu_weight);
	wr_le32(wr, 0);
	wr_str(wr, m->id);
	wr_str(wr, m->user);
	wr_str(wr, m->cwd);
	wire_strs_put(wr, m->argv, m->argc);
	wire_strs_put(wr, m->env, m->envc);
}

void wire_shutdown_put(struct wr *wr, const struct msg_shutdown *m)
{
	wire_head_put(wr, WIRE_SHUTDOWN, 8);
	wr_le32(wr, m->grace_ms);
	wr_le32(wr, 0);
}

void wire_clock_put(struct wr *wr, const struct msg_clock *m)
{
	wire_head_put(wr, WIRE_CLOCK, 8);
	wr_le64(wr, m->ns);
}

void wire_signal_put(struct wr *wr, const struct msg_signal *m)
{
	wire_head_put(wr, WIRE_SIGNAL, 8);
	wr_le32(wr, m->signo);
	wr_le16(wr, (uint16_t)m->scope);
	wr_le16(wr, 0);
}

void wire_resize_put(struct wr *wr, const struct msg_resize *m)
{
	wire_head_put(wr, WIRE_RESIZE, 4);
	wr_le16(wr, m->cols);
	wr_le16(wr, m->rows);
}

void wire_stdin_put(struct wr *wr, const void *data, size_t len)
{
	bug_on(len == 0 || len > WIRE_DATA_MAX);
	wire_head_put(wr, WIRE_STDIN, len);
	wr_bytes(wr, data, len);
}

void wire_started_put(struct wr *wr, const struct msg_started *m)
{
	wire_head_put(wr, WIRE_STARTED, 16 + wire_str_size(m->id));
	wr_le32(wr, m->pid);
	wr_le32(wr, 0);
	wr_le64(wr, m->start_ns);
	wr_str(wr, m->id);
}

void wire_output_head_put(struct wr *wr, enum wire_type type, uint64_t cursor,
			  uint64_t time_ns, size_t len)
{
	wire_head_put(wr, type, 16 + len);
	wr_le64(wr, cursor);
	wr_le64(wr, time_ns);
}

void wire_output_put(struct wr *wr, enum wire_type type,
		     const struct msg_output *m)
{
	bug_on(m->len == 0 || m->len > WIRE_DATA_MAX);
	wire_output_head_put(wr, type, m->cursor, m->time_ns, m->len);
	wr_bytes(wr, m->data, m->len);
}

void wire_exit_put(struct wr *wr, const struct msg_exit *m)
{
	wire_head_put(wr, WIRE_EXIT, sizeof(struct wire_exit));
	wr_le16(wr, (uint16_t)m->how);
	wr_le16(wr, (uint16_t)m->state);
	wr_le32(wr, m->flags);
	wr_le32(wr, m->value);
	wr_le32(wr, 0);
	wr_le64(wr, m->stdout_total);
	wr_le64(wr, m->stderr_total);
	wr_le64(wr, m->stdout_cut);
	wr_le64(wr, m->stderr_cut);
	wr_le64(wr, m->end_ns);
}

void wire_error_put(struct wr *wr, const struct msg_error *m)
{
	wire_head_put(wr, WIRE_ERROR, 8 + wire_str_size(m->sentence));
	wr_le32(wr, m->code);
	wr_le16(wr, (uint16_t)m->kind);
	wr_le16(wr, 0);
	wr_str(wr, m->sentence);
}

void wire_event_put(struct wr *wr, const struct msg_event *m)
{
	wire_head_put(wr, WIRE_EVENT,
		      sizeof(struct wire_event) + wire_str_size(m->id) +
			      wire_str_size(m->text));
	wr_le16(wr, (uint16_t)m->what);
	wr_le16(wr, (uint16_t)m->how);
	wr_le32(wr, m->flags);
	wr_le32(wr, m->value);
	wr_le32(wr, 0);
	wr_le64(wr, m->time_ns);
	wr_str(wr, m->id);
	wr_str(wr, m->text);
}

void wire_stat_put(struct wr *wr, const struct msg_stat *m)
{
	wire_head_put(wr, WIRE_STAT_ANSWER, sizeof(struct wire_stat));
	wr_le64(wr, m->uptime_ns);
	wr_le64(wr, m->mem_total);
	wr_le64(wr, m->mem_available);
	wr_le64(wr, m->started);
	wr_le32(wr, m->running);
	wr_le32(wr, m->lingering);
	wr_le32(wr, m->exited);
	wr_le32(wr, m->connections);
}

void wire_stdin_ack_put(struct wr *wr, const struct msg_stdin_ack *m)
{
	wire_head_put(wr, WIRE_STDIN_ACK, 16);
	wr_le64(wr, m->consumed);
	wr_le32(wr, m->flags);
	wr_le32(wr, 0);
}

static size_t mount_size(const struct msg_mount *m)
{
	return 4 + wire_str_size(m->type) + wire_str_size(m->source) +
	       wire_str_size(m->target) + wire_str_size(m->options);
}

size_t wire_boot_size(const struct msg_boot *m)
{
	size_t size = WIRE_HDR_LEN + sizeof(struct wire_boot) +
		      wire_str_size(m->hostname) + wire_str_size(m->cwd) +
		      wire_str_size(m->user) + wire_str_size(m->lower) +
		      wire_str_size(m->upper) + wire_strs_size(m->env, m->envc);

	for (uint32_t i = 0; i < m->n_mounts; i++)
		size += mount_size(&m->mounts[i]);
	if (m->flags & WIRE_BOOT_NET)
		size += wire_net_size(&m->net);
	return size;
}

void wire_boot_put(struct wr *wr, const struct msg_boot *m)
{
	if (!head_put_checked(wr, WIRE_BOOT, wire_boot_size(m)))
		return;
	wr_le32(wr, m->flags);
	wr_le16(wr, (uint16_t)m->root);
	wr_le16(wr, (uint16_t)m->stop_signal);
	wr_le64(wr, m->clock_ns);
	wr_le32(wr, m->envc);
	wr_le32(wr, m->n_mounts);
	wr_str(wr, m->hostname);
	wr_str(wr, m->cwd);
	wr_str(wr, m->user);
	wr_str(wr, m->lower);
	wr_str(wr, m->upper);
	wire_strs_put(wr, m->env, m->envc);
	for (uint32_t i = 0; i < m->n_mounts; i++) {
		const struct msg_mount *mt = &m->mounts[i];

		wr_le32(wr, mt->flags);
		wr_str(wr, mt->type);
		wr_str(wr, mt->source);
		wr_str(wr, mt->target);
		wr_str(wr, mt->options);
	}
	if (m->flags & WIRE_BOOT_NET)
		wire_net_put(wr, &m->net);
}

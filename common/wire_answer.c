/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_answer.c - take the agent's messages apart; see wire.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"
#include "common/wire_proc.h"
#include "common/words.h"

int wire_started_parse(const void *p, size_t len, struct msg_started *ret,
		       struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->pid = rd_le32(&rd);
	reserved = rd_le32(&rd);
	ret->start_ns = rd_le64(&rd);
	ret->id = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "STARTED");
	if (reserved)
		return wire_reserved_set(e, "STARTED");
	if (!words_name_ok(ret->id))
		return wire_no_name(e, "STARTED");
	return wire_time_check("STARTED", ret->start_ns, e);
}

int wire_output_parse(const void *p, size_t len, struct msg_output *ret,
		      struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->cursor = rd_le64(&rd);
	ret->time_ns = rd_le64(&rd);
	ret->len = rd.left;
	ret->data = rd_bytes(&rd, rd.left);
	if (rd_end(&rd))
		return wire_malformed(e, "output");
	if (ret->len == 0 || ret->len > WIRE_DATA_MAX)
		return err_set(e, -EBADMSG,
			       "output: %zu bytes in a frame, not 1 to %u",
			       ret->len, WIRE_DATA_MAX);
	/* So that no receiver has to fear that a sum of them wraps. */
	if (ret->cursor > INT64_MAX)
		return err_set(e, -EBADMSG, "output: the cursor is too large");
	return wire_time_check("output", ret->time_ns, e);
}

static int exit_check(const struct msg_exit *m, struct err *e)
{
	int r = wire_end_check("EXIT", (uint16_t)m->how, m->flags, m->value, e);

	if (r == 0)
		r = wire_cut_check("EXIT", m->stdout_cut, m->stdout_total, e);
	if (r == 0)
		r = wire_cut_check("EXIT", m->stderr_cut, m->stderr_total, e);
	return r < 0 ? r : wire_time_check("EXIT", m->end_ns, e);
}

int wire_exit_parse(const void *p, size_t len, struct msg_exit *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_exit *w = rd_bytes(&rd, sizeof(*w));
	uint16_t state;

	if (!w || rd_end(&rd))
		return wire_malformed(e, "EXIT");
	if (le32_get(w->reserved))
		return wire_reserved_set(e, "EXIT");
	state = le16_get(w->state);
	if (state != WIRE_STATE_LINGERING && state != WIRE_STATE_EXITED)
		return err_set(e, -EBADMSG, "EXIT: unknown state %u", state);
	*ret = (struct msg_exit){
		.how = (enum wire_how)le16_get(w->how),
		.state = (enum wire_state)state,
		.flags = le32_get(w->flags),
		.value = le32_get(w->value),
		.stdout_total = le64_get(w->stdout_total),
		.stderr_total = le64_get(w->stderr_total),
		.stdout_cut = le64_get(w->stdout_cut),
		.stderr_cut = le64_get(w->stderr_cut),
		.end_ns = le64_get(w->end_ns),
	};
	return exit_check(ret, e);
}

int wire_error_parse(const void *p, size_t len, struct msg_error *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint16_t kind, reserved;

	ret->code = rd_le32(&rd);
	kind = rd_le16(&rd);
	reserved = rd_le16(&rd);
	ret->sentence = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "ERROR");
	if (reserved)
		return wire_reserved_set(e, "ERROR");
	if (kind < WIRE_ERR_GENERAL || kind > WIRE_ERR_BOOT)
		return err_set(e, -EBADMSG, "ERROR: unknown kind %u", kind);
	if (ret->code == 0 || ret->code > WIRE_ERRNO_MAX)
		return err_set(e, -EBADMSG, "ERROR: %u is no errno", ret->code);
	if (strlen(ret->sentence) > WIRE_SENTENCE_MAX)
		return wire_too_long(e, "ERROR: sentence", WIRE_SENTENCE_MAX);
	ret->kind = (enum wire_error_kind)kind;
	return 0;
}

/* What has no end to tell says nothing in these fields. */
static int event_bare(const struct msg_event *m, struct err *e)
{
	if (m->how || m->flags || m->value)
		return err_set(e, -EBADMSG,
			       "EVENT: this event has no exit status");
	return 0;
}

static int event_started(const struct msg_event *m, struct err *e)
{
	uint32_t unknown = m->flags & ~(WIRE_PROC_MAIN | WIRE_PROC_PTY);

	if (unknown)
		return wire_bad_flags(e, "EVENT", unknown);
	if (m->how || m->value == 0)
		return err_set(e, -EBADMSG, "EVENT: a start without a pid");
	if (strlen(m->text) > WIRE_EVENT_ARG_MAX)
		return wire_too_long(e, "EVENT: program", WIRE_EVENT_ARG_MAX);
	return 0;
}

static int event_check_kind(const struct msg_event *m, struct err *e)
{
	switch (m->what) {
	case WIRE_EVENT_MAIN_ENDED:
	case WIRE_EVENT_PROCESS_EXITED:
		return wire_end_check("EVENT", (uint16_t)m->how, m->flags,
				      m->value, e);
	case WIRE_EVENT_BOOT_PROBLEM:
	case WIRE_EVENT_BOOT_FAILED:
	case WIRE_EVENT_OOM:
		return event_bare(m, e);
	case WIRE_EVENT_PROCESS_STARTED:
		return event_started(m, e);
	case WIRE_EVENT_BUSY:
		if (m->how || m->flags || m->value > WIRE_BUSY_MAX)
			return err_set(e, -EBADMSG, "EVENT: bad BUSY");
		return 0;
	default:
		return err_set(e, -EBADMSG, "EVENT: unknown event %u",
			       (unsigned int)m->what);
	}
}

/* Whether the event is about one process, whose id it must have. */
static bool of_process(enum wire_event_what what)
{
	return what == WIRE_EVENT_PROCESS_STARTED ||
	       what == WIRE_EVENT_PROCESS_EXITED;
}

static int event_check(const struct msg_event *m, struct err *e)
{
	int r = event_check_kind(m, e);

	if (r < 0)
		return r;
	if ((*m->id || of_process(m->what)) && !words_name_ok(m->id))
		return wire_no_name(e, "EVENT");
	if (strlen(m->text) > WIRE_SENTENCE_MAX)
		return wire_too_long(e, "EVENT: text", WIRE_SENTENCE_MAX);
	return wire_time_check("EVENT", m->time_ns, e);
}

int wire_event_parse(const void *p, size_t len, struct msg_event *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_event *w = rd_bytes(&rd, sizeof(*w));

	ret->id = rd_str(&rd);
	ret->text = rd_str(&rd);
	if (!w || rd_end(&rd))
		return wire_malformed(e, "EVENT");
	ret->what = (enum wire_event_what)le16_get(w->what);
	ret->how = (enum wire_how)le16_get(w->how);
	ret->flags = le32_get(w->flags);
	ret->value = le32_get(w->value);
	ret->time_ns = le64_get(w->time_ns);
	if (le32_get(w->reserved))
		return wire_reserved_set(e, "EVENT");
	return event_check(ret, e);
}

int wire_stat_parse(const void *p, size_t len, struct msg_stat *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_stat *w = rd_bytes(&rd, sizeof(*w));

	if (!w || rd_end(&rd))
		return wire_malformed(e, "STAT_ANSWER");
	*ret = (struct msg_stat){
		.uptime_ns = le64_get(w->uptime_ns),
		.mem_total = le64_get(w->mem_total),
		.mem_available = le64_get(w->mem_available),
		.started = le64_get(w->started),
		.running = le32_get(w->running),
		.lingering = le32_get(w->lingering),
		.exited = le32_get(w->exited),
		.connections = le32_get(w->connections),
	};
	return 0;
}

int wire_stdin_ack_parse(const void *p, size_t len, struct msg_stdin_ack *ret,
			 struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->consumed = rd_le64(&rd);
	ret->flags = rd_le32(&rd);
	reserved = rd_le32(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "STDIN_ACK");
	if (reserved)
		return wire_reserved_set(e, "STDIN_ACK");
	if (ret->flags & ~WIRE_ACK_FLAGS)
		return wire_bad_flags(e, "STDIN_ACK",
				      ret->flags & ~WIRE_ACK_FLAGS);
	return 0;
}

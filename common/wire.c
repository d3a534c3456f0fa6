/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire.c - take messages of the agent protocol apart; see wire.h */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "common/wire.h"
#include "common/words.h"

/* What a string costs on the wire at least: its length and its NUL. */
#define STR_MIN 5u

static int malformed(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG,
		       "%s: too short, a bad string, or bytes left over", what);
}

static int reserved_set(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG, "%s: a reserved field is not 0", what);
}

static int bad_flags(struct err *e, const char *what, uint32_t unknown)
{
	return err_set(e, -EBADMSG, "%s: unknown flags %#x", what, unknown);
}

static int too_long(struct err *e, const char *what, size_t max)
{
	return err_set(e, -EBADMSG, "%s: longer than %zu bytes", what, max);
}

int wire_hello_parse(const void *p, size_t len, struct msg_hello *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t magic = rd_le32(&rd);
	uint16_t reserved;

	ret->version = rd_le16(&rd);
	reserved = rd_le16(&rd);
	ret->features = rd_le64(&rd);
	if (rd_end(&rd))
		return malformed(e, "HELLO");
	if (magic != WIRE_MAGIC)
		return err_set(e, -EBADMSG,
			       "HELLO: magic %#x is not this protocol's",
			       magic);
	if (ret->version != WIRE_VERSION)
		return err_set(e, -EBADMSG,
			       "HELLO: peer speaks version %u, this side %u",
			       ret->version, WIRE_VERSION);
	if (reserved)
		return reserved_set(e, "HELLO");
	return 0;
}

/*
 * Whether so many strings can be in what is left.  So nobody can make us
 * allocate much more than he sent.
 */
static bool strs_fit(const struct rd *rd, size_t n)
{
	return n <= rd->left / STR_MIN;
}

static void read_strs(struct rd *rd, const char **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = rd_str(rd);
	v[n] = NULL;
}

static int env_check(const char *what, const char **env, uint32_t n,
		     struct err *e)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *eq = strchr(env[i], '=');

		if (!eq || eq == env[i])
			return err_set(e, -EBADMSG,
				       "%s: environment string %u is not "
				       "KEY=VALUE",
				       what, i);
	}
	return 0;
}

static int exec_check_flags(const struct msg_exec *m, struct err *e)
{
	uint32_t out = WIRE_EXEC_STDOUT_NULL | WIRE_EXEC_STDERR_NULL;

	if (m->flags & ~WIRE_EXEC_FLAGS)
		return bad_flags(e, "EXEC", m->flags & ~WIRE_EXEC_FLAGS);
	if ((m->flags & WIRE_EXEC_PTY) &&
	    (m->flags & (out | WIRE_EXEC_COMBINED)))
		return err_set(e, -EBADMSG,
			       "EXEC: a terminal takes all output, so PTY "
			       "excludes COMBINED and NULL");
	if ((m->flags & WIRE_EXEC_COMBINED) && (m->flags & out))
		return err_set(e, -EBADMSG, "EXEC: COMBINED excludes NULL");
	if (!(m->flags & WIRE_EXEC_PTY) && (m->cols || m->rows))
		return err_set(e, -EBADMSG,
			       "EXEC: a terminal size without PTY");
	if (m->grace_ms > WIRE_GRACE_MAX_MS)
		return err_set(e, -EBADMSG, "EXEC: grace of %u ms is over %u",
			       m->grace_ms, WIRE_GRACE_MAX_MS);
	return 0;
}

static int exec_check_strings(const struct msg_exec *m, struct err *e)
{
	if (*m->id && !words_name_ok(m->id))
		return err_set(e, -EBADMSG,
			       "EXEC: the id is not [a-z0-9][a-z0-9-]{0,62}");
	if (strlen(m->user) > WIRE_USER_MAX)
		return too_long(e, "EXEC: user", WIRE_USER_MAX);
	if (strlen(m->cwd) > WIRE_PATH_MAX)
		return too_long(e, "EXEC: cwd", WIRE_PATH_MAX);
	if (*m->cwd && *m->cwd != '/')
		return err_set(e, -EBADMSG, "EXEC: cwd is not absolute");
	if (!*m->argv[0])
		return err_set(e, -EBADMSG,
			       "EXEC: the program's name is empty");
	return env_check("EXEC", m->env, m->envc, e);
}

/* The strings of EXEC; @rd stands behind the fixed part. */
static int exec_parse_strings(struct rd *rd, struct msg_exec *m, struct err *e)
{
	int r;

	m->id = rd_str(rd);
	m->user = rd_str(rd);
	m->cwd = rd_str(rd);
	if (rd->bad || !strs_fit(rd, (size_t)m->argc + m->envc))
		return malformed(e, "EXEC");
	m->argv = calloc((size_t)m->argc + m->envc + 2, sizeof(*m->argv));
	if (!m->argv)
		return err_set(e, -ENOMEM, "EXEC: out of memory");
	m->env = m->argv + m->argc + 1;
	read_strs(rd, m->argv, m->argc);
	read_strs(rd, m->env, m->envc);
	r = rd_end(rd) ? malformed(e, "EXEC") : exec_check_strings(m, e);
	if (r < 0)
		wire_exec_done(m);
	return r;
}

int wire_exec_parse(const void *p, size_t len, struct msg_exec *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_exec *w = rd_bytes(&rd, sizeof(*w));
	int r;

	if (!w)
		return malformed(e, "EXEC");
	*ret = (struct msg_exec){
		.flags = le32_get(w->flags),
		.grace_ms = le32_get(w->grace_ms),
		.timeout_ms = le64_get(w->timeout_ms),
		.cols = le16_get(w->cols),
		.rows = le16_get(w->rows),
		.argc = le32_get(w->argc),
		.envc = le32_get(w->envc),
	};
	if (le32_get(w->reserved))
		return reserved_set(e, "EXEC");
	r = exec_check_flags(ret, e);
	if (r < 0)
		return r;
	if (ret->argc == 0 || ret->argc > WIRE_ARGC_MAX)
		return err_set(e, -EBADMSG, "EXEC: %u arguments, not 1 to %u",
			       ret->argc, WIRE_ARGC_MAX);
	if (ret->envc > WIRE_ENVC_MAX)
		return err_set(e, -EBADMSG,
			       "EXEC: %u environment strings, not 0 to %u",
			       ret->envc, WIRE_ENVC_MAX);
	return exec_parse_strings(&rd, ret, e);
}

void wire_exec_done(struct msg_exec *m)
{
	free(m->argv);
	m->argv = NULL;
	m->env = NULL;
}

int wire_shutdown_parse(const void *p, size_t len, struct msg_shutdown *ret,
			struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->grace_ms = rd_le32(&rd);
	reserved = rd_le32(&rd);
	if (rd_end(&rd))
		return malformed(e, "SHUTDOWN");
	if (reserved)
		return reserved_set(e, "SHUTDOWN");
	if (ret->grace_ms > WIRE_GRACE_MAX_MS)
		return err_set(e, -EBADMSG,
			       "SHUTDOWN: grace of %u ms is over %u",
			       ret->grace_ms, WIRE_GRACE_MAX_MS);
	return 0;
}

int wire_clock_parse(const void *p, size_t len, struct msg_clock *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->ns = rd_le64(&rd);
	if (rd_end(&rd))
		return malformed(e, "CLOCK");
	if (ret->ns == 0 || ret->ns > INT64_MAX)
		return err_set(e, -EBADMSG,
			       "CLOCK: %llu ns is not a time after 1970",
			       (unsigned long long)ret->ns);
	return 0;
}

int wire_signal_parse(const void *p, size_t len, struct msg_signal *ret,
		      struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint16_t scope, reserved;

	ret->signo = rd_le32(&rd);
	scope = rd_le16(&rd);
	reserved = rd_le16(&rd);
	if (rd_end(&rd))
		return malformed(e, "SIGNAL");
	if (reserved)
		return reserved_set(e, "SIGNAL");
	if (ret->signo == 0 || ret->signo > WIRE_SIGNAL_MAX)
		return err_set(e, -EBADMSG, "SIGNAL: %u is not 1 to %u",
			       ret->signo, WIRE_SIGNAL_MAX);
	if (scope != WIRE_SCOPE_ONE && scope != WIRE_SCOPE_TREE)
		return err_set(e, -EBADMSG, "SIGNAL: unknown scope %u", scope);
	ret->scope = (enum wire_scope)scope;
	return 0;
}

int wire_resize_parse(const void *p, size_t len, struct msg_resize *ret,
		      struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->cols = rd_le16(&rd);
	ret->rows = rd_le16(&rd);
	if (rd_end(&rd))
		return malformed(e, "RESIZE");
	if (ret->cols == 0 || ret->rows == 0)
		return err_set(e, -EBADMSG,
			       "RESIZE: %u columns by %u rows is no size",
			       ret->cols, ret->rows);
	return 0;
}

int wire_started_parse(const void *p, size_t len, struct msg_started *ret,
		       struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->pid = rd_le32(&rd);
	reserved = rd_le32(&rd);
	ret->id = rd_str(&rd);
	if (rd_end(&rd))
		return malformed(e, "STARTED");
	if (reserved)
		return reserved_set(e, "STARTED");
	if (!words_name_ok(ret->id))
		return err_set(e, -EBADMSG, "STARTED: the id is not a name");
	return 0;
}

int wire_output_parse(const void *p, size_t len, struct msg_output *ret,
		      struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->cursor = rd_le64(&rd);
	ret->len = rd.left;
	ret->data = rd_bytes(&rd, rd.left);
	if (rd_end(&rd))
		return malformed(e, "output");
	if (ret->len == 0 || ret->len > WIRE_DATA_MAX)
		return err_set(e, -EBADMSG,
			       "output: %zu bytes in a frame, not 1 to %u",
			       ret->len, WIRE_DATA_MAX);
	return 0;
}

/* How something ended, of EXIT and of MAIN_ENDED. */
static int end_check(const char *what, uint16_t how, uint32_t flags,
		     uint32_t value, struct err *e)
{
	bool ok;

	if (flags & ~WIRE_EXIT_FLAGS)
		return bad_flags(e, what, flags & ~WIRE_EXIT_FLAGS);
	if (how == WIRE_HOW_EXITED)
		ok = value <= 255;
	else if (how == WIRE_HOW_SIGNALLED)
		ok = value >= 1 && value <= WIRE_SIGNAL_MAX;
	else
		return err_set(e, -EBADMSG, "%s: unknown end %u", what, how);
	if (!ok)
		return err_set(e, -EBADMSG, "%s: value %u is out of range",
			       what, value);
	return 0;
}

int wire_exit_parse(const void *p, size_t len, struct msg_exit *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_exit *w = rd_bytes(&rd, sizeof(*w));
	uint16_t state;

	if (!w || rd_end(&rd))
		return malformed(e, "EXIT");
	if (le32_get(w->reserved))
		return reserved_set(e, "EXIT");
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
	};
	return end_check("EXIT", le16_get(w->how), ret->flags, ret->value, e);
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
		return malformed(e, "ERROR");
	if (reserved)
		return reserved_set(e, "ERROR");
	if (kind < WIRE_ERR_GENERAL || kind > WIRE_ERR_LIMIT)
		return err_set(e, -EBADMSG, "ERROR: unknown kind %u", kind);
	if (ret->code == 0 || ret->code > 4095)
		return err_set(e, -EBADMSG, "ERROR: %u is no errno", ret->code);
	if (strlen(ret->sentence) > WIRE_SENTENCE_MAX)
		return too_long(e, "ERROR: sentence", WIRE_SENTENCE_MAX);
	ret->kind = (enum wire_error_kind)kind;
	return 0;
}

static int event_check(const struct wire_event *w, const struct msg_event *m,
		       struct err *e)
{
	uint16_t what = le16_get(w->what), how = le16_get(w->how);

	if (le32_get(w->reserved))
		return reserved_set(e, "EVENT");
	if (*m->id && !words_name_ok(m->id))
		return err_set(e, -EBADMSG, "EVENT: the id is not a name");
	if (strlen(m->text) > WIRE_SENTENCE_MAX)
		return too_long(e, "EVENT: text", WIRE_SENTENCE_MAX);
	if (what == WIRE_EVENT_MAIN_ENDED)
		return end_check("EVENT", how, m->flags, m->value, e);
	if (what != WIRE_EVENT_BOOT_PROBLEM)
		return err_set(e, -EBADMSG, "EVENT: unknown event %u", what);
	if (how || m->flags || m->value)
		return err_set(e, -EBADMSG,
			       "EVENT: a boot problem has no exit status");
	return 0;
}

int wire_event_parse(const void *p, size_t len, struct msg_event *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_event *w = rd_bytes(&rd, sizeof(*w));

	ret->id = rd_str(&rd);
	ret->text = rd_str(&rd);
	if (!w || rd_end(&rd))
		return malformed(e, "EVENT");
	ret->what = (enum wire_event_what)le16_get(w->what);
	ret->how = (enum wire_how)le16_get(w->how);
	ret->flags = le32_get(w->flags);
	ret->value = le32_get(w->value);
	return event_check(w, ret, e);
}

int wire_stat_parse(const void *p, size_t len, struct msg_stat *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_stat *w = rd_bytes(&rd, sizeof(*w));

	if (!w || rd_end(&rd))
		return malformed(e, "STAT_ANSWER");
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
		return malformed(e, "STDIN_ACK");
	if (reserved)
		return reserved_set(e, "STDIN_ACK");
	if (ret->flags & ~WIRE_ACK_FLAGS)
		return bad_flags(e, "STDIN_ACK", ret->flags & ~WIRE_ACK_FLAGS);
	return 0;
}

static int mount_check(const struct msg_mount *m, struct err *e)
{
	if (m->flags & ~WIRE_MOUNT_FLAGS)
		return bad_flags(e, "BOOT: mount",
				 m->flags & ~WIRE_MOUNT_FLAGS);
	if (!*m->type)
		return err_set(e, -EBADMSG, "BOOT: a mount has no type");
	if (*m->target != '/')
		return err_set(e, -EBADMSG,
			       "BOOT: a mount's target is not absolute");
	if (strlen(m->target) > WIRE_PATH_MAX ||
	    strlen(m->source) > WIRE_PATH_MAX ||
	    strlen(m->options) > WIRE_PATH_MAX)
		return too_long(e, "BOOT: mount", WIRE_PATH_MAX);
	return 0;
}

static void read_mounts(struct rd *rd, struct msg_boot *m)
{
	for (uint32_t i = 0; i < m->n_mounts; i++) {
		struct msg_mount *mt = &m->mounts[i];

		mt->flags = rd_le32(rd);
		mt->type = rd_str(rd);
		mt->source = rd_str(rd);
		mt->target = rd_str(rd);
		mt->options = rd_str(rd);
	}
}

static int boot_check_strings(const struct msg_boot *m, struct err *e)
{
	int r = env_check("BOOT", m->env, m->envc, e);

	if (strlen(m->hostname) > WIRE_HOSTNAME_MAX)
		return too_long(e, "BOOT: hostname", WIRE_HOSTNAME_MAX);
	if (strlen(m->user) > WIRE_USER_MAX)
		return too_long(e, "BOOT: user", WIRE_USER_MAX);
	if (strlen(m->cwd) > WIRE_PATH_MAX)
		return too_long(e, "BOOT: cwd", WIRE_PATH_MAX);
	if (*m->cwd && *m->cwd != '/')
		return err_set(e, -EBADMSG, "BOOT: cwd is not absolute");
	for (uint32_t i = 0; r == 0 && i < m->n_mounts; i++)
		r = mount_check(&m->mounts[i], e);
	return r;
}

/* The strings of BOOT; @rd stands behind the fixed part. */
static int boot_parse_strings(struct rd *rd, struct msg_boot *m, struct err *e)
{
	size_t mounts_len = m->n_mounts * sizeof(*m->mounts);
	int r;

	m->hostname = rd_str(rd);
	m->cwd = rd_str(rd);
	m->user = rd_str(rd);
	if (rd->bad || !strs_fit(rd, (size_t)m->envc + m->n_mounts))
		return malformed(e, "BOOT");
	m->mounts = calloc(1, mounts_len + (m->envc + 1) * sizeof(*m->env));
	if (!m->mounts)
		return err_set(e, -ENOMEM, "BOOT: out of memory");
	m->env = (const char **)(void *)(m->mounts + m->n_mounts);
	read_strs(rd, m->env, m->envc);
	read_mounts(rd, m);
	r = rd_end(rd) ? malformed(e, "BOOT") : boot_check_strings(m, e);
	if (r < 0)
		wire_boot_done(m);
	return r;
}

int wire_boot_parse(const void *p, size_t len, struct msg_boot *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_boot *w = rd_bytes(&rd, sizeof(*w));
	uint16_t root;

	if (!w)
		return malformed(e, "BOOT");
	root = le16_get(w->root);
	*ret = (struct msg_boot){
		.flags = le32_get(w->flags),
		.root = (enum wire_root)root,
		.clock_ns = le64_get(w->clock_ns),
		.envc = le32_get(w->envc),
		.n_mounts = le32_get(w->n_mounts),
	};
	if (le16_get(w->reserved))
		return reserved_set(e, "BOOT");
	if (ret->flags)
		return bad_flags(e, "BOOT", ret->flags);
	if (root != WIRE_ROOT_BUILTIN)
		return err_set(e, -EBADMSG, "BOOT: unknown root %u", root);
	if (ret->clock_ns > INT64_MAX)
		return err_set(e, -EBADMSG, "BOOT: the clock is out of range");
	if (ret->envc > WIRE_ENVC_MAX || ret->n_mounts > WIRE_MOUNTS_MAX)
		return err_set(e, -EBADMSG,
			       "BOOT: %u environment strings and %u mounts, "
			       "not at most %u and %u",
			       ret->envc, ret->n_mounts, WIRE_ENVC_MAX,
			       WIRE_MOUNTS_MAX);
	return boot_parse_strings(&rd, ret, e);
}

void wire_boot_done(struct msg_boot *m)
{
	free(m->mounts);
	m->mounts = NULL;
	m->env = NULL;
}

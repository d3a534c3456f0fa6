/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire.c - take messages of the agent protocol apart; see wire.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"
#include "common/words.h"

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
		return wire_malformed(e, "HELLO");
	if (magic != WIRE_MAGIC)
		return err_set(e, -EBADMSG,
			       "HELLO: magic %#x is not this protocol's",
			       magic);
	if (ret->version != WIRE_VERSION)
		return err_set(e, -EBADMSG,
			       "HELLO: peer speaks version %u, this side %u",
			       ret->version, WIRE_VERSION);
	if (reserved)
		return wire_reserved_set(e, "HELLO");
	return 0;
}

static int exec_check_flags(const struct msg_exec *m, struct err *e)
{
	uint32_t out = WIRE_EXEC_STDOUT_NULL | WIRE_EXEC_STDERR_NULL;

	if (m->flags & ~WIRE_EXEC_FLAGS)
		return wire_bad_flags(e, "EXEC", m->flags & ~WIRE_EXEC_FLAGS);
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
	return wire_grace_check("EXEC", m->grace_ms, e);
}

static int exec_check_limits(const struct msg_exec *m, struct err *e)
{
	if (m->ring && (m->ring < WIRE_RING_MIN || m->ring > WIRE_RING_MAX))
		return err_set(e, -EBADMSG,
			       "EXEC: %u bytes to keep, not %u to %u", m->ring,
			       WIRE_RING_MIN, WIRE_RING_MAX);
	if (m->memory && m->memory < WIRE_MEMORY_MIN)
		return err_set(e, -EBADMSG,
			       "EXEC: a memory limit of %llu bytes is below "
			       "%llu",
			       (unsigned long long)m->memory, WIRE_MEMORY_MIN);
	if (m->cpu_weight > WIRE_WEIGHT_MAX)
		return err_set(e, -EBADMSG, "EXEC: cpu weight %u is over %u",
			       m->cpu_weight, WIRE_WEIGHT_MAX);
	return 0;
}

static int exec_check_counts(const struct msg_exec *m, struct err *e)
{
	if (m->argc == 0 || m->argc > WIRE_ARGC_MAX)
		return err_set(e, -EBADMSG, "EXEC: %u arguments, not 1 to %u",
			       m->argc, WIRE_ARGC_MAX);
	if (m->envc > WIRE_ENVC_MAX)
		return err_set(e, -EBADMSG,
			       "EXEC: %u environment strings, not 0 to %u",
			       m->envc, WIRE_ENVC_MAX);
	return 0;
}

static int exec_check_strings(const struct msg_exec *m, struct err *e)
{
	if (*m->id && !words_name_ok(m->id))
		return err_set(e, -EBADMSG,
			       "EXEC: the id is not [a-z0-9][a-z0-9-]{0,62}");
	if (strlen(m->user) > WIRE_USER_MAX)
		return wire_too_long(e, "EXEC: user", WIRE_USER_MAX);
	if (strlen(m->cwd) > WIRE_PATH_MAX)
		return wire_too_long(e, "EXEC: cwd", WIRE_PATH_MAX);
	if (*m->cwd && *m->cwd != '/')
		return err_set(e, -EBADMSG, "EXEC: cwd is not absolute");
	if (!*m->argv[0])
		return err_set(e, -EBADMSG,
			       "EXEC: the program's name is empty");
	return wire_env_check("EXEC", m->env, m->envc, e);
}

/* The strings of EXEC; @rd stands behind the fixed part. */
static int exec_parse_strings(struct rd *rd, struct msg_exec *m, struct err *e)
{
	int r;

	m->id = rd_str(rd);
	m->user = rd_str(rd);
	m->cwd = rd_str(rd);
	if (rd->bad || !wire_strs_fit(rd, (size_t)m->argc + m->envc))
		return wire_malformed(e, "EXEC");
	m->argv = calloc((size_t)m->argc + m->envc + 2, sizeof(*m->argv));
	if (!m->argv)
		return err_set(e, -ENOMEM, "EXEC: out of memory");
	m->env = m->argv + m->argc + 1;
	wire_read_strs(rd, m->argv, m->argc);
	wire_read_strs(rd, m->env, m->envc);
	r = rd_end(rd) ? wire_malformed(e, "EXEC") : exec_check_strings(m, e);
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
		return wire_malformed(e, "EXEC");
	*ret = (struct msg_exec){
		.flags = le32_get(w->flags),
		.grace_ms = le32_get(w->grace_ms),
		.timeout_ms = le64_get(w->timeout_ms),
		.cols = le16_get(w->cols),
		.rows = le16_get(w->rows),
		.argc = le32_get(w->argc),
		.envc = le32_get(w->envc),
		.ring = le32_get(w->ring),
		.pids = le32_get(w->pids),
		.memory = le64_get(w->memory),
		.cpu_weight = le32_get(w->cpu_weight),
	};
	if (le32_get(w->reserved) || le32_get(w->reserved2))
		return wire_reserved_set(e, "EXEC");
	r = exec_check_flags(ret, e);
	if (r == 0)
		r = exec_check_limits(ret, e);
	if (r == 0)
		r = exec_check_counts(ret, e);
	return r < 0 ? r : exec_parse_strings(&rd, ret, e);
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
		return wire_malformed(e, "SHUTDOWN");
	if (reserved)
		return wire_reserved_set(e, "SHUTDOWN");
	return wire_grace_check("SHUTDOWN", ret->grace_ms, e);
}

int wire_clock_parse(const void *p, size_t len, struct msg_clock *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->ns = rd_le64(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "CLOCK");
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
	int r;

	ret->signo = rd_le32(&rd);
	scope = rd_le16(&rd);
	reserved = rd_le16(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "SIGNAL");
	if (reserved)
		return wire_reserved_set(e, "SIGNAL");
	r = wire_signal_check("SIGNAL", ret->signo, scope, e);
	if (r < 0)
		return r;
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
		return wire_malformed(e, "RESIZE");
	if (ret->cols == 0 || ret->rows == 0)
		return err_set(e, -EBADMSG,
			       "RESIZE: %u columns by %u rows is no size",
			       ret->cols, ret->rows);
	return 0;
}

static int mount_check(const struct msg_mount *m, struct err *e)
{
	if (m->flags & ~WIRE_MOUNT_FLAGS)
		return wire_bad_flags(e, "BOOT: mount",
				      m->flags & ~WIRE_MOUNT_FLAGS);
	if (!*m->type)
		return err_set(e, -EBADMSG, "BOOT: a mount has no type");
	if (*m->target != '/')
		return err_set(e, -EBADMSG,
			       "BOOT: a mount's target is not absolute");
	if (strlen(m->target) > WIRE_PATH_MAX ||
	    strlen(m->source) > WIRE_PATH_MAX ||
	    strlen(m->options) > WIRE_PATH_MAX)
		return wire_too_long(e, "BOOT: mount", WIRE_PATH_MAX);
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

/* Tags stand in option strings of the guest: nothing that means more there. */
static bool tag_ok(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return strlen(s) <= WIRE_TAG_MAX && !s[strspn(s, ok)];
}

/* What an overlay is made of, and nothing else is. */
static int boot_check_root(const struct msg_boot *m, struct err *e)
{
	const bool overlay = m->root == WIRE_ROOT_OVERLAY;

	if (!tag_ok(m->lower) || !tag_ok(m->upper))
		return err_set(e, -EBADMSG,
			       "BOOT: a tag is not 1 to %u letters, digits, "
			       "'.', '_' and '-'",
			       WIRE_TAG_MAX);
	if (overlay != (*m->lower != '\0') || (!overlay && *m->upper))
		return err_set(e, -EBADMSG,
			       "BOOT: an overlay, and nothing else, has a "
			       "layer to read");
	return 0;
}

static int boot_check_strings(const struct msg_boot *m, struct err *e)
{
	int r = wire_env_check("BOOT", m->env, m->envc, e);

	if (strlen(m->hostname) > WIRE_HOSTNAME_MAX)
		return wire_too_long(e, "BOOT: hostname", WIRE_HOSTNAME_MAX);
	if (strlen(m->user) > WIRE_USER_MAX)
		return wire_too_long(e, "BOOT: user", WIRE_USER_MAX);
	if (strlen(m->cwd) > WIRE_PATH_MAX)
		return wire_too_long(e, "BOOT: cwd", WIRE_PATH_MAX);
	if (*m->cwd && *m->cwd != '/')
		return err_set(e, -EBADMSG, "BOOT: cwd is not absolute");
	if (r == 0)
		r = boot_check_root(m, e);
	for (uint32_t i = 0; r == 0 && i < m->n_mounts; i++) {
		r = mount_check(&m->mounts[i], e);
		if (m->mounts[i].flags & WIRE_MOUNT_DISK && !*m->upper)
			r = err_set(e, -EBADMSG,
				    "BOOT: a mount of a disk, and there is "
				    "none");
	}
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
	m->lower = rd_str(rd);
	m->upper = rd_str(rd);
	if (rd->bad || !wire_strs_fit(rd, (size_t)m->envc + m->n_mounts))
		return wire_malformed(e, "BOOT");
	m->mounts = calloc(1, mounts_len + (m->envc + 1) * sizeof(*m->env));
	if (!m->mounts)
		return err_set(e, -ENOMEM, "BOOT: out of memory");
	m->env = (const char **)(void *)(m->mounts + m->n_mounts);
	wire_read_strs(rd, m->env, m->envc);
	read_mounts(rd, m);
	r = m->flags & WIRE_BOOT_NET ? wire_net_read(rd, &m->net, e) : 0;
	if (r == 0)
		r = rd_end(rd) ? wire_malformed(e, "BOOT")
			       : boot_check_strings(m, e);
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
		return wire_malformed(e, "BOOT");
	root = le16_get(w->root);
	*ret = (struct msg_boot){
		.flags = le32_get(w->flags),
		.root = (enum wire_root)root,
		.stop_signal = le16_get(w->stop_signal),
		.clock_ns = le64_get(w->clock_ns),
		.envc = le32_get(w->envc),
		.n_mounts = le32_get(w->n_mounts),
	};
	if (ret->flags & ~WIRE_BOOT_FLAGS)
		return wire_bad_flags(e, "BOOT", ret->flags);
	if (root != WIRE_ROOT_BUILTIN && root != WIRE_ROOT_OVERLAY)
		return err_set(e, -EBADMSG, "BOOT: unknown root %u", root);
	if (ret->stop_signal > WIRE_SIGNAL_MAX)
		return err_set(e, -EBADMSG, "BOOT: there is no signal %u",
			       ret->stop_signal);
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

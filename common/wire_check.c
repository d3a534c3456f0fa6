/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_check.c - see wire_check.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"

/* What a string costs on the wire at least: its length and its NUL. */
#define STR_MIN 5u

int wire_malformed(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG,
		       "%s: too short, a bad string, or bytes left over", what);
}

int wire_reserved_set(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG, "%s: a reserved field is not 0", what);
}

int wire_bad_flags(struct err *e, const char *what, uint32_t unknown)
{
	return err_set(e, -EBADMSG, "%s: unknown flags %#x", what, unknown);
}

int wire_too_long(struct err *e, const char *what, size_t max)
{
	return err_set(e, -EBADMSG, "%s: longer than %zu bytes", what, max);
}

int wire_no_name(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG, "%s: the id is not a name", what);
}

int wire_end_check(const char *what, uint16_t how, uint32_t flags,
		   uint32_t value, struct err *e)
{
	bool ok;

	if (flags & ~WIRE_EXIT_FLAGS)
		return wire_bad_flags(e, what, flags & ~WIRE_EXIT_FLAGS);
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

int wire_grace_check(const char *what, uint32_t grace_ms, struct err *e)
{
	if (grace_ms > WIRE_GRACE_MAX_MS)
		return err_set(e, -EBADMSG, "%s: grace of %u ms is over %u",
			       what, grace_ms, WIRE_GRACE_MAX_MS);
	return 0;
}

int wire_signal_check(const char *what, uint32_t signo, uint16_t scope,
		      struct err *e)
{
	if (signo == 0 || signo > WIRE_SIGNAL_MAX)
		return err_set(e, -EBADMSG, "%s: %u is not 1 to %u", what,
			       signo, WIRE_SIGNAL_MAX);
	if (scope != WIRE_SCOPE_ONE && scope != WIRE_SCOPE_TREE)
		return err_set(e, -EBADMSG, "%s: unknown scope %u", what,
			       scope);
	return 0;
}

int wire_time_check(const char *what, uint64_t ns, struct err *e)
{
	if (ns > INT64_MAX)
		return err_set(e, -EBADMSG, "%s: a time is out of range", what);
	return 0;
}

int wire_cut_check(const char *what, uint64_t cut, uint64_t total,
		   struct err *e)
{
	if (cut > total)
		return err_set(e, -EBADMSG,
			       "%s: %llu bytes cut of %llu that there were",
			       what, (unsigned long long)cut,
			       (unsigned long long)total);
	return 0;
}

int wire_env_check(const char *what, const char **env, uint32_t n,
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

bool wire_strs_fit(const struct rd *rd, size_t n)
{
	return n <= rd->left / STR_MIN;
}

void wire_read_strs(struct rd *rd, const char **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = rd_str(rd);
	v[n] = NULL;
}

size_t wire_str_size(const char *s)
{
	return 4 + strlen(s) + 1;
}

size_t wire_strs_size(const char **v, uint32_t n)
{
	size_t size = 0;

	for (uint32_t i = 0; i < n; i++)
		size += wire_str_size(v[i]);
	return size;
}

void wire_strs_put(struct wr *wr, const char **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		wr_str(wr, v[i]);
}

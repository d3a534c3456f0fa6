/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/mount.c - see mount.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/mount.h"
#include "host/cli/value.h"

#define VOLUME "--volume"
#define MOUNT  "--mount"
#define TYPE   1u /* seen: see struct words */
#define SRC    2u
#define DST    4u
#define LOCKS  8u

static int no_memory(struct hutch_err *e)
{
	(void)snprintf(e->msg, sizeof(e->msg), "mounts: out of memory");
	e->code = -ENOMEM;
	return -ENOMEM;
}

/* Room for one more, with its words in a copy that is taken apart. */
static char *grow(struct cli_mounts *ms, const char *word)
{
	char **text = reallocarray(ms->text, ms->n + 1, sizeof(*text));
	struct hutch_mount *one;

	if (!text)
		return NULL;
	ms->text = text;
	one = reallocarray(ms->one, ms->n + 1, sizeof(*one));
	if (!one)
		return NULL;
	ms->one = one;
	text[ms->n] = strdup(word);
	if (!text[ms->n])
		return NULL;
	one[ms->n] = (struct hutch_mount)HUTCH_MOUNT_INIT;
	return text[ms->n++];
}

/* A list of pointers that stays right as the objects move. */
static int finish(struct cli_mounts *ms, struct hutch_err *e)
{
	const struct hutch_mount **list = calloc(ms->n + 1, sizeof(void *));

	if (!list)
		return no_memory(e);
	for (size_t i = 0; i < ms->n; i++)
		list[i] = &ms->one[i];
	free(ms->list);
	ms->list = list;
	return 0;
}

/* ---- --volume ---- */

static int take_modes(struct hutch_mount *m, char *modes, const char *word,
		      struct hutch_err *e)
{
	char *save = NULL;

	if (!*modes)
		return value_refuse(e, VOLUME, word, "ends in ':'");
	for (char *s = strtok_r(modes, ",", &save); s;
	     s = strtok_r(NULL, ",", &save)) {
		if (strcmp(s, "ro") == 0)
			m->flags |= HUTCH_MOUNT_RDONLY;
		else if (strcmp(s, "locks=host") == 0)
			m->flags |= HUTCH_MOUNT_LOCKS_HOST;
		else if (strcmp(s, "rw") != 0 && strcmp(s, "locks=guest") != 0)
			return value_refuse(e, VOLUME, word,
					    "ends in something that is "
					    "none of ro, rw and locks=host");
	}
	return 0;
}

int mount_volume(struct cli_mounts *ms, const char *word, struct hutch_err *e)
{
	char *src = grow(ms, word), *dst, *modes;
	struct hutch_mount *m;

	if (!src)
		return no_memory(e);
	m = &ms->one[ms->n - 1];
	dst = strchr(src, ':');
	if (!dst || dst == src || !dst[1])
		return value_refuse(e, VOLUME, word,
				    "is not SRC:DST: say what of this host is "
				    "to be seen where in the VM");
	*dst++ = '\0';
	/* As Docker tells a volume from a folder. */
	if (!strchr(src, '/') && src[0] != '.')
		m->flags |= HUTCH_MOUNT_VOLUME;
	if (m->flags & HUTCH_MOUNT_VOLUME && !hutch_volume_name_ok(src))
		return value_refuse(e, VOLUME, word,
				    "begins with what can be no volume's name: "
				    "write ./NAME for a folder here");
	modes = strchr(dst, ':');
	if (modes)
		*modes++ = '\0';
	m->source = src;
	m->target = dst;
	if (modes && take_modes(m, modes, word, e) < 0)
		return -EINVAL;
	return finish(ms, e);
}

/* ---- --mount ---- */

static unsigned int key_of(const char *key)
{
	static const struct {
		const char *name;
		unsigned int what;
	} keys[] = {
		{ "type", TYPE },       { "source", SRC }, { "src", SRC },
		{ "destination", DST }, { "dst", DST },    { "target", DST },
		{ "locks", LOCKS },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].name, key) == 0)
			return keys[i].what;
	return 0;
}

static int take_locks(struct hutch_mount *m, const char *value,
		      const char *word, struct hutch_err *e)
{
	if (strcmp(value, "host") == 0)
		m->flags |= HUTCH_MOUNT_LOCKS_HOST;
	else if (strcmp(value, "guest") != 0)
		return value_refuse(e, MOUNT, word,
				    "has locks that are neither host nor "
				    "guest");
	return 0;
}

static int take_flag(struct hutch_mount *m, const char *key, const char *value,
		     const char *word, struct hutch_err *e)
{
	if (strcmp(key, "readonly") != 0 && strcmp(key, "ro") != 0)
		return value_refuse(e, MOUNT, word,
				    "has a word that is none of type, src, "
				    "dst, readonly and locks");
	if (!value || strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
		m->flags |= HUTCH_MOUNT_RDONLY;
	else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
		m->flags &= ~HUTCH_MOUNT_RDONLY;
	else
		return value_refuse(e, MOUNT, word,
				    "has a readonly that is not true or false");
	return 0;
}

static int take_word(struct hutch_mount *m, char *s, const char *word,
		     unsigned int *seen, struct hutch_err *e)
{
	char *value = strchr(s, '=');
	unsigned int what;

	if (value)
		*value++ = '\0';
	what = key_of(s);
	if (!what)
		return take_flag(m, s, value, word, e);
	if (!value || !*value)
		return value_refuse(e, MOUNT, word, "has a word without value");
	if (*seen & what)
		return value_refuse(e, MOUNT, word,
				    "says the same thing twice");
	*seen |= what;
	if (what == LOCKS)
		return take_locks(m, value, word, e);
	if (what == SRC)
		m->source = value;
	else if (what == DST)
		m->target = value;
	else if (strcmp(value, "volume") == 0)
		m->flags |= HUTCH_MOUNT_VOLUME;
	else if (strcmp(value, "bind") != 0)
		return value_refuse(e, MOUNT, word,
				    "has another type than bind and volume, "
				    "which is all there is");
	return 0;
}

int mount_words(struct cli_mounts *ms, const char *word, struct hutch_err *e)
{
	char *text = grow(ms, word), *save = NULL;
	unsigned int seen = 0;
	int r = 0;

	if (!text)
		return no_memory(e);
	for (char *s = strtok_r(text, ",", &save); r == 0 && s;
	     s = strtok_r(NULL, ",", &save))
		r = take_word(&ms->one[ms->n - 1], s, word, &seen, e);
	if (r == 0 && (seen & ~LOCKS) != (TYPE | SRC | DST))
		r = value_refuse(e, MOUNT, word,
				 "is not type=bind,src=SRC,dst=DST, or "
				 "type=volume");
	return r == 0 ? finish(ms, e) : r;
}

const struct hutch_mount *const *mount_list(const struct cli_mounts *ms)
{
	return (const struct hutch_mount *const *)ms->list;
}

void mount_done(struct cli_mounts *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		free(ms->text[i]);
	free(ms->text);
	free(ms->one);
	free(ms->list);
	*ms = (struct cli_mounts){ 0 };
}

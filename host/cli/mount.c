/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/mount.c - see mount.h */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/mount.h"
#include "host/cli/value.h"

#define VOLUME       "--volume"
#define MOUNT        "--mount"
#define IMAGE_DAX    "--image-dax"
#define DAX_NAME_MAX 32
#define TYPE         1u /* seen: see struct words */
#define SRC          2u
#define DST          4u
#define LOCKS        8u
#define DAX          16u
#define WINDOW       32u
#define CONSISTENCY  64u
#define PROPAGATION  128u
#define UID          256u
#define GID          512u
#define EXTRA        (LOCKS | DAX | WINDOW | UID | GID)

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

/* ---- Both ---- */

/* All that goes with a value. Return: 0; -EINVAL; -ERANGE */
static int take_extra(struct hutch_mount *m, unsigned int what,
		      const char *value, const char *option, const char *word,
		      struct hutch_err *e)
{
	if (what == DAX)
		return hutch_parse_dax(option, value, &m->dax, e);
	if (what == WINDOW)
		return value_size(option, value, &m->window, e);
	if (what == UID || what == GID)
		return value_uint(option, value, 0, HUTCH_ID_MAX,
				  what == UID ? &m->uid : &m->gid, e);
	if (strcmp(value, "host") == 0)
		m->flags |= HUTCH_MOUNT_LOCKS_HOST;
	else if (strcmp(value, "guest") == 0)
		m->flags &= ~HUTCH_MOUNT_LOCKS_HOST;
	else
		return value_refuse(e, option, word,
				    "has locks that are neither host nor "
				    "guest");
	return 0;
}

static unsigned int key_of(const char *key)
{
	static const struct {
		const char *name;
		unsigned int what;
	} keys[] = {
		{ "type", TYPE },
		{ "source", SRC },
		{ "src", SRC },
		{ "destination", DST },
		{ "dst", DST },
		{ "target", DST },
		{ "locks", LOCKS },
		{ "dax", DAX },
		{ "window", WINDOW },
		{ "uid", UID },
		{ "gid", GID },
		{ "consistency", CONSISTENCY },
		{ "bind-propagation", PROPAGATION },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].name, key) == 0)
			return keys[i].what;
	return 0;
}

/*
 * Docker's words for what is so in any case: nothing is labelled, what either
 * side writes the other sees, and what is mounted in a folder is out of reach.
 */
static bool is_usual(const char *s)
{
	static const char *const words[] = { "rw",        "z",
					     "Z",         "cached",
					     "delegated", "consistent",
					     "rprivate",  "private" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], s) == 0)
			return true;
	return false;
}

/* ---- --volume ---- */

static int take_mode(struct hutch_mount *m, char *s, const char *word,
		     struct hutch_err *e)
{
	char *value = strchr(s, '=');
	unsigned int what;

	if (!value && strcmp(s, "ro") == 0) {
		m->flags |= HUTCH_MOUNT_RDONLY;
		return 0;
	}
	if (!value && strcmp(s, "nocopy") == 0) {
		m->flags |= HUTCH_MOUNT_NOCOPY;
		return 0;
	}
	if (!value && is_usual(s))
		return 0;
	if (value)
		*value++ = '\0';
	what = value ? key_of(s) & EXTRA : 0;
	if (!what)
		return value_refuse(e, VOLUME, word,
				    "ends in something that is none of ro, rw, "
				    "nocopy, locks=, dax=, window=, uid= and "
				    "gid=, nor a word of Docker's that changes "
				    "nothing here");
	return take_extra(m, what, value, VOLUME, word, e);
}

static int take_modes(struct hutch_mount *m, char *modes, const char *word,
		      struct hutch_err *e)
{
	char *save = NULL;
	int r = 0;

	if (!*modes)
		return value_refuse(e, VOLUME, word, "ends in ':'");
	for (char *s = strtok_r(modes, ",", &save); r == 0 && s;
	     s = strtok_r(NULL, ",", &save))
		r = take_mode(m, s, word, e);
	return r;
}

int mount_volume(struct cli_mounts *ms, const char *word, struct hutch_err *e)
{
	char *src = grow(ms, word), *dst, *modes;
	struct hutch_mount *m;
	int r = 0;

	if (!src)
		return no_memory(e);
	m = &ms->one[ms->n - 1];
	dst = strchr(src, ':');
	if (!dst && *src == '/')
		return value_refuse(e, VOLUME, word,
				    "is a volume without a name, which hutch "
				    "does not make: write NAME:DST");
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
	if (modes)
		r = take_modes(m, modes, word, e);
	return r == 0 ? finish(ms, e) : r;
}

/* ---- --mount ---- */

static unsigned int flag_of(const char *key)
{
	if (strcmp(key, "readonly") == 0 || strcmp(key, "ro") == 0)
		return HUTCH_MOUNT_RDONLY;
	return strcmp(key, "volume-nocopy") == 0 ? HUTCH_MOUNT_NOCOPY : 0;
}

static int take_flag(struct hutch_mount *m, const char *key, const char *value,
		     const char *word, struct hutch_err *e)
{
	unsigned int flag = flag_of(key);

	if (!flag)
		return value_refuse(e, MOUNT, word,
				    "has a word that is none of type, src, "
				    "dst, readonly, volume-nocopy, locks, dax, "
				    "window, uid and gid");
	if (!value || strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
		m->flags |= flag;
	else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
		m->flags &= ~flag;
	else
		return value_refuse(e, MOUNT, word,
				    "has a flag that is not true or false");
	return 0;
}

static int take_type(struct hutch_mount *m, const char *type, const char *word,
		     struct hutch_err *e)
{
	if (strcmp(type, "volume") == 0)
		m->flags |= HUTCH_MOUNT_VOLUME;
	else if (strcmp(type, "tmpfs") == 0)
		return value_refuse(e, MOUNT, word,
				    "asks for a tmpfs, which a VM mounts "
				    "itself: mount -t tmpfs tmpfs DST");
	else if (strcmp(type, "bind") != 0)
		return value_refuse(e, MOUNT, word,
				    "has another type than bind and volume, "
				    "which is all there is");
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
	if (what & EXTRA)
		return take_extra(m, what, value, MOUNT, word, e);
	if (what == TYPE)
		return take_type(m, value, word, e);
	if (what == SRC)
		m->source = value;
	else if (what == DST)
		m->target = value;
	else if (what == PROPAGATION && strcmp(value, "rprivate") != 0 &&
		 strcmp(value, "private") != 0)
		return value_refuse(e, MOUNT, word,
				    "has another bind-propagation than "
				    "rprivate, which is all there is");
	return 0;
}

/* A volume if nothing else is said, as Docker has it. */
static int check_words(struct hutch_mount *m, unsigned int seen,
		       const char *word, struct hutch_err *e)
{
	if (!(seen & TYPE))
		m->flags |= HUTCH_MOUNT_VOLUME;
	if (!m->target)
		return value_refuse(e, MOUNT, word,
				    "is neither type=bind,src=SRC,dst=DST nor "
				    "src=NAME,dst=DST");
	if (!m->source)
		return value_refuse(e, MOUNT, word,
				    m->flags & HUTCH_MOUNT_VOLUME
					    ? "is a volume without a name, "
					      "which hutch does not make: "
					      "write src=NAME"
					    : "has no src: say what of this "
					      "host is to be seen");
	if (m->flags & HUTCH_MOUNT_VOLUME && !hutch_volume_name_ok(m->source))
		return value_refuse(e, MOUNT, word,
				    "has a src that can be no volume's name: "
				    "write type=bind for a folder");
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
	if (r == 0)
		r = check_words(&ms->one[ms->n - 1], seen, word, e);
	return r == 0 ? finish(ms, e) : r;
}

/* ---- --image-dax ---- */

int mount_image_dax(const char *word, enum hutch_dax *dax, uint64_t *window,
		    struct hutch_err *e)
{
	static const char key[] = "window=";
	char name[DAX_NAME_MAX];
	size_t len = word ? strcspn(word, ",") : 0;
	const char *rest = word ? word + len : NULL;
	int r;

	if (!word)
		return 0;
	if (*rest && strncmp(rest + 1, key, strlen(key)) != 0)
		return value_refuse(e, IMAGE_DAX, word,
				    "is not WHICH or WHICH,window=SIZE");
	(void)snprintf(name, sizeof(name), "%.*s", (int)MIN(len, sizeof(name)),
		       word);
	r = hutch_parse_dax(IMAGE_DAX, name, dax, e);
	if (r == 0 && *rest)
		r = value_size(IMAGE_DAX, rest + 1 + strlen(key), window, e);
	return r;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_image.c - images and volumes that are none: libhutch's part of
 * fake_vm.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/hutch.h"
#include "tests/lib/fake_vm.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* One that tries to write on the terminal. */
static const char *const names[] = { "a:1", "h.x/b:2", NULL };
static const char *const env[] = { "A=\033[31m", NULL };
static struct hutch_image_info image = {
	.id = ID,
	.names = names,
	.manifest = "",
	.os = "linux",
	.arch = "amd64",
	.created_ns = 1769860800000000000,
	.bytes = 3 << 20,
	.entries = 5,
	.env = env,
	.workdir = "\033[2J",
	.user = "",
	.stop_signal = "",
};

struct hutch_image {
	const char *name;
};

/* "here" is here; another one is when it has been pulled. */
static const char *pulled;

static struct hutch_image_info **one(void)
{
	struct hutch_image_info **list =
		calloc(2, sizeof(struct hutch_image_info *));

	if (!list)
		abort();
	list[0] = &image;
	return list;
}

int hutch_image_import(struct hutch *h, const struct hutch_image_import_opts *o,
		       struct hutch_image_info **ret, struct hutch_err *e)
{
	*ret = &image;
	o->progress(o->progress_arg, HUTCH_IMAGE_STEP_UNPACK, "x", 1, 2);
	return fake_vm_call(e, "import %s %s %s %llu %llu\n", o->path, o->name,
			    o->pick ? o->pick : "-",
			    (unsigned long long)o->max_bytes,
			    (unsigned long long)o->max_entries);
}

int hutch_image_build(struct hutch *h, const struct hutch_image_build_opts *o,
		      struct hutch_image_info **ret, struct hutch_err *e)
{
	const char *const none[] = { "-", "-", NULL };
	const char *const *in = o->include ? o->include : none;
	const char *const *from = o->mirrors ? o->mirrors : none;

	*ret = &image;
	return fake_vm_call(e, "build %s %s %s %s %s %s %d %llu %llu\n",
			    o->recipe, o->name, o->suite ? o->suite : "-",
			    in[0], in[1] ? in[1] : "-", from[0], o->log_fd,
			    (unsigned long long)o->max_bytes,
			    (unsigned long long)o->max_entries);
}

int hutch_image_pull(struct hutch *h, const struct hutch_image_pull_opts *o,
		     struct hutch_image_info **ret, struct hutch_err *e)
{
	*ret = &image;
	pulled = o->ref;
	return fake_vm_call(e, "pull %s %s %u %llu %llu\n", o->ref,
			    o->creds ? o->creds : "-", o->idle_s,
			    (unsigned long long)o->max_bytes,
			    (unsigned long long)o->max_entries);
}

int hutch_image_list(struct hutch *h, struct hutch_image_info ***ret,
		     struct hutch_err *e)
{
	int r = fake_vm_call(e, "image-list\n");

	if (r == 0)
		*ret = one();
	return r;
}

void hutch_image_list_free(struct hutch_image_info **list)
{
	free(list);
}

int hutch_image_inspect(struct hutch *h, const char *name,
			struct hutch_image_info **ret, struct hutch_err *e)
{
	*ret = &image;
	return fake_vm_call(e, "image-inspect %s\n", name);
}

void hutch_image_info_free(struct hutch_image_info *i)
{
}

char *hutch_image_json(const struct hutch_image_info *i)
{
	return strdup("{\"id\":\"" ID "\"}");
}

int hutch_image_ref_ok(const char *name)
{
	return !strchr(name, '!');
}

int hutch_image_open(struct hutch *h, const char *name,
		     struct hutch_image **ret, struct hutch_err *e)
{
	static struct hutch_image img;

	if (strcmp(name, "here") != 0 && !(pulled && strcmp(name, ID) == 0)) {
		e->code = -ENOENT;
		(void)snprintf(e->msg, sizeof(e->msg), "there is no image");
		return -ENOENT;
	}
	img.name = name;
	*ret = &img;
	return fake_vm_call(e, "image-open %s\n", name);
}

int hutch_image_command(const struct hutch_image *img, const char *entrypoint,
			const char *const *argv, const char *const **ret,
			struct hutch_err *e)
{
	const char **v = calloc(2, sizeof(*v));

	if (!v)
		abort();
	v[0] = *argv ? *argv : entrypoint ? entrypoint : "own";
	*ret = v;
	return fake_vm_call(e, "image-command %s\n", v[0]);
}

void hutch_image_close(struct hutch_image *img)
{
}

int hutch_image_remove(struct hutch *h, const char *name, unsigned int flags,
		       struct hutch_err *e)
{
	return fake_vm_call(e, "image-remove %s %#x\n", name, flags);
}

int hutch_image_prune(struct hutch *h, unsigned int flags,
		      struct hutch_image_info ***ret, struct hutch_err *e)
{
	int r = fake_vm_call(e, "image-prune %#x\n", flags);

	if (r == 0)
		*ret = one();
	return r;
}

int hutch_volume_create(struct hutch *h, const char *name,
			const struct hutch_volume_opts *opts,
			struct hutch_err *e)
{
	return fake_vm_call(e, "volume-create %s %llu\n", name,
			    (unsigned long long)opts->bytes);
}

int hutch_volume_list(struct hutch *h, struct hutch_volume ***ret,
		      struct hutch_err *e)
{
	static struct hutch_volume v = { .name = "cache",
					 .path = "/d/cache",
					 .created_ns = 1769860800000000000,
					 .in_use = 1,
					 .bytes = 10 << 20,
					 .used_bytes = 5 << 10 };
	int r = fake_vm_call(e, "volume-list\n");

	if (r < 0)
		return r;
	*ret = calloc(2, sizeof(struct hutch_volume *));
	if (!*ret)
		abort();
	(*ret)[0] = &v;
	return 1;
}

void hutch_volume_list_free(struct hutch_volume **list)
{
	free(list);
}

int hutch_volume_remove(struct hutch *h, const char *name, unsigned int flags,
			struct hutch_err *e)
{
	return fake_vm_call(e, "volume-remove %s %#x\n", name, flags);
}

int hutch_net_show(struct hutch *h, const char *name, char **ret,
		   struct hutch_err *e)
{
	int r = fake_vm_call(e, "net-show %s\n", name);

	if (r < 0)
		return r;
	*ret = strdup("{\"rules\":[]}");
	if (!*ret)
		abort();
	return 0;
}

int hutch_net_set(struct hutch *h, const char *name, const char *policy,
		  unsigned int flags, struct hutch_err *e)
{
	return fake_vm_call(e, "net-set %s %s %#x\n", name, policy, flags);
}

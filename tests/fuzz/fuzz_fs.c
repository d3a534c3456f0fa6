/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_fs.c - the input is what a guest asks of a shared folder
 *
 * Byte 0: bit 0 read-only, bit 1 mapped, bits 2 and 3 how it caches (both, and
 * mapped: a quota), bit 4 no INIT before the rest, bits 5 to 7 how the pieces
 * are cut.  If it has all of bits 0 and 4 to 7, the next byte is in its place, and
 * there is a window for files to be mapped into, of as many slots as the bits 0
 * to 1 of the byte after it say, which is for large files alone if it has bit 7,
 * and locks are the host's if it has bit 6.
 * Then records of 8 bytes and what follows:
 *
 *	operation	FUSE's opcode; from 200 on, something the host does
 *	node		0 the root, 255 none that is known, else one of those
 *			that the server named so far
 *	handle		likewise, 0 for the last
 *	flags		of struct record
 *	length		of what is behind the header (16 bits)
 *	room		for the answer (16 bits)
 *
 * In a folder that the host has moved out no name comes or goes.  In the end
 * nothing else beside the shared folder has changed, and all is closed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/le.h"
#include "common/rd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fuse_kit.h"
#include "tests/lib/fuse_window.h"
#include "vmm/fs/quota.h"

#define RECORDS_MAX 64
#define KNOWN_MAX   32

#define WITH_WINDOW 0xf1u

/* No file of the scratch folder gets larger, whatever is asked for. */
#define FILE_MAX (1u << 20)

#define QUOTA_INODES 20

#define HOST 200u

enum {
	PUT_HANDLE = 1, /* the handle's number goes first in what follows */
	PUT_NODE = 2,   /* the number of the node "handle" says */
	LONGER = 4,     /* the header says one byte more than there is */
	SHORTER = 8,
	EXTENSION = 16,  /* the header says there is one */
	PUT_SECOND = 32, /* both, as for COPY_FILE_RANGE: at 16 and 24 */
	AS_ROOT = 64
};

struct record {
	uint8_t op;
	uint8_t node;
	uint8_t handle;
	uint8_t flags;
	le16 len;
	le16 room;
};

/**
 * struct names - What there is in a folder, and below
 * @sum:	Over all names and what they are of; 0 if there is no such folder
 * @hidden:	The mode of one keeps us from looking into it
 */
struct names {
	uint64_t sum;
	bool hidden;
};

struct state {
	struct fuse_kit k;
	struct fuse_window w;
	bool maps;
	uint64_t nodes[KNOWN_MAX];
	unsigned int n_nodes;
	uint64_t handles[KNOWN_MAX];
	unsigned int n_handles;
	bool meddled;
	struct names out;
};

static uint64_t node_of(const struct state *st, uint8_t i)
{
	if (i == 255)
		return 0xdeadbeefull << 32 | 7;
	if (i == 0 || !st->n_nodes)
		return FUSE_ROOT_ID;
	return st->nodes[(i - 1u) % st->n_nodes];
}

static uint64_t handle_of(const struct state *st, uint8_t i)
{
	if (i == 255 || !st->n_handles)
		return 0xdeadbeef;
	if (i == 0)
		return st->handles[st->n_handles - 1];
	return st->handles[(i - 1u) % st->n_handles];
}

static void note(uint64_t *list, unsigned int *n, uint64_t id)
{
	if (*n < KNOWN_MAX)
		list[(*n)++] = id;
}

/* What the answer names can be asked about next. */
static void learn(struct state *st, uint32_t op)
{
	struct fuse_open_out open;
	size_t off = 0;

	switch (op) {
	case FUSE_LOOKUP:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
	case FUSE_SYMLINK:
	case FUSE_LINK:
	case FUSE_CREATE:
	case FUSE_TMPFILE:
		if (st->k.len < sizeof(struct fuse_entry_out))
			return;
		memcpy(&st->k.entry, st->k.body, sizeof(st->k.entry));
		note(st->nodes, &st->n_nodes, st->k.entry.nodeid);
		off = sizeof(st->k.entry);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		break;
	default:
		return;
	}
	if (st->k.len < off + sizeof(open))
		return;
	memcpy(&open, st->k.body + off, sizeof(open));
	note(st->handles, &st->n_handles, open.fh);
}

static void ask(struct state *st, const struct record *rec, const uint8_t *arg,
		size_t len)
{
	struct fuse_in_header h = {
		.len = (uint32_t)(sizeof(h) + len),
		.opcode = rec->op,
		.unique = 99,
		.pid = 1,
		.nodeid = node_of(st, rec->node),
		.uid = rec->flags & AS_ROOT ? 0 : 1000,
		.gid = 1000,
	};
	uint8_t *buf = malloc(sizeof(h) + len);
	uint64_t id = handle_of(st, rec->handle);
	int error;

	bug_on(!buf);
	h.len += rec->flags & LONGER ? 1 : 0;
	h.len -= rec->flags & SHORTER ? 1 : 0;
	h.total_extlen = rec->flags & EXTENSION ? 1 : 0;
	memcpy(buf, &h, sizeof(h));
	if (len)
		memcpy(buf + sizeof(h), arg, len);
	if (rec->flags & PUT_NODE)
		id = node_of(st, rec->handle);
	if (rec->flags & (PUT_HANDLE | PUT_NODE) && len >= sizeof(id))
		memcpy(buf + sizeof(h), &id, sizeof(id));
	if (rec->flags & PUT_SECOND && len >= 32) {
		memcpy(buf + sizeof(h) + 16, &h.nodeid, sizeof(h.nodeid));
		memcpy(buf + sizeof(h) + 24, &id, sizeof(id));
	}
	if (fk_raw(&st->k, buf, sizeof(h) + len, le16_get(rec->room), &error) &&
	    !error)
		learn(st, rec->op);
	free(buf);
}

/* @seed is the folder's, so that a name in another would be another. */
static void add_names(struct names *n, int dir, const char *name, uint64_t seed)
{
	const struct dirent *de;
	struct stat st;
	DIR *in;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	seed ^= st.st_ino;
	for (const char *p = name; *p; p++)
		seed = (seed ^ (uint8_t)*p) * 0x100000001b3u; /* FNV-1a */
	n->sum += seed;
	if (!S_ISDIR(st.st_mode))
		return;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n->hidden |= fd < 0;
	if (fd < 0)
		return;
	in = fdopendir(fd);
	bug_on(!in);
	while ((de = readdir(in)))
		if (!base_is_dots(de->d_name))
			add_names(n, fd, de->d_name, seed);
	(void)closedir(in);
}

static struct names moved_out(const struct state *st)
{
	struct names n = { 0 };

	add_names(&n, st->k.top_fd, "out", 0);
	return n;
}

static void check_moved_out(const struct state *st)
{
	struct names n = moved_out(st);

	bug_on(n.sum != st->out.sum && !n.hidden && !st->out.hidden);
}

static void resize(int dir, off_t size)
{
	int fd = openat(dir, "file",
			O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		(void)!ftruncate(fd, size);
	base_closep(&fd);
}

/* What a host does to its folder meanwhile; it need not work. */
static void host(struct state *st, unsigned int what)
{
	int fd = st->k.fd;

	check_moved_out(st);
	st->meddled = true;
	switch (what) {
	case 0:
		(void)renameat(fd, "dir", fd, "../out");
		break;
	case 1:
		(void)renameat(fd, "../out", fd, "dir");
		break;
	case 2:
		(void)unlinkat(fd, "file", 0);
		break;
	case 3:
		(void)!symlinkat("..", fd, "dir");
		break;
	case 4:
		(void)renameat(fd, "dir/sub", fd, "sub");
		break;
	case 5:
		(void)renameat(fd, "dir", fd, "sub/dir");
		break;
	case 6:
		(void)!symlinkat("../secret", fd, "file");
		break;
	case 8:
		resize(fd, 0);
		break;
	case 9:
		resize(fd, FILE_MAX);
		break;
	case 10:
		if (st->maps)
			(void)window_tend(&st->w.w);
		break;
	default:
		(void)renameat(fd, "file", fd, "file2");
	}
	st->out = moved_out(st);
}

static void populate(struct fuse_kit *k)
{
	fk_host_file(k, "file", "some text");
	fk_host_dir(k, "dir");
	fk_host_dir(k, "dir/sub");
	fk_host_file(k, "dir/secret", "not it");
	bug_on(symlinkat("../secret", k->fd, "link") < 0);
	bug_on(mknodat(k->fd, "fifo", S_IFIFO | 0600, 0) < 0);
}

/* Beside the folder there is the secret, and what the host moved there. */
static void check_outside(const struct state *st)
{
	int fd = openat(st->k.top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	const struct dirent *de;

	check_moved_out(st);
	bug_on(!dir);
	while ((de = readdir(dir)))
		bug_on(!base_is_dots(de->d_name) &&
		       strcmp(de->d_name, "share") != 0 &&
		       strcmp(de->d_name, "secret") != 0 &&
		       strcmp(de->d_name, "out") != 0);
	(void)closedir(dir);
}

static void limits(void)
{
	struct rlimit rl = { FILE_MAX, FILE_MAX };

	(void)signal(SIGXFSZ, SIG_IGN);
	bug_on(setrlimit(RLIMIT_FSIZE, &rl) < 0);
}

/* Every page of it is memory of the guest, or EFAULT: never our end. */
static void look_at_window(const struct state *st)
{
	for (uint64_t off = 0; off < st->w.w.len; off += WINDOW_SLOT / 4) {
		int c = fw_byte(&st->w, off);

		bug_on(c < 0 && c != -EFAULT);
		bug_on(fw_put(&st->w, off, "w") < 0 && c >= 0);
	}
}

static void begin(struct state *st, uint8_t how, const uint8_t *window)
{
	static const size_t pieces[] = { 0, 1, 3, 8, 16, 39, 40, 4096 };
	struct fs_opts o = fk_usual();

	o.fds_max = FS_FDS_MIN;
	o.ro = how & 1;
	o.owner = how & 2 ? FS_OWNER_MAPPED : FS_OWNER_HOST;
	o.cache = (enum fs_cache)((how >> 2 & 3) % (FS_CACHE_NEVER + 1));
	if (how & 2 && !o.ro && (how >> 2 & 3) == 3) {
		o.quota_bytes = FS_QUOTA_MIN;
		o.quota_inodes = QUOTA_INODES;
	}
	*st = (struct state){ .maps = window != NULL };
	if (window) {
		o.dax = *window & 0x80 ? FS_DAX_INODE : FS_DAX_ALWAYS;
		o.locks = *window & 0x40 ? FS_LOCKS_HOST : FS_LOCKS_GUEST;
		fw_init(&st->w, 1 + (*window & 3), &o);
	}
	fk_scratch(&st->k);
	populate(&st->k);
	fk_serve(&st->k, &o);
	st->k.piece = pieces[how >> 5];
	if (!(how & 16))
		bug_on(fk_start(&st->k) != 0);
}

/* The count is what there is, if nobody else changed it. */
static void check_count(const struct state *st, const struct fs_stats *stats)
{
	struct treesize u;

	if (!stats->inodes)
		return;
	bug_on(stats->bytes > FS_QUOTA_MIN || stats->inodes > QUOTA_INODES);
	if (st->meddled)
		return;
	bug_on(treesize_count(st->k.fd, &u) < 0);
	bug_on(u.bytes != stats->bytes || u.inodes != stats->inodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	const uint8_t *how = rd_bytes(&rd, 1), *window = NULL;
	struct state st;
	struct fs_stats stats;

	if (how && *how == WITH_WINDOW) {
		how = rd_bytes(&rd, 1);
		window = rd_bytes(&rd, 1);
		if (!window)
			return 0;
	}
	if (!how)
		return 0;
	limits();
	begin(&st, *how, window);
	for (int i = 0; i < RECORDS_MAX; i++) {
		const struct record *rec = rd_bytes(&rd, sizeof(*rec));
		const uint8_t *arg;

		if (!rec)
			break;
		if (rec->op >= HOST) {
			host(&st, rec->op - HOST);
			continue;
		}
		arg = rd_bytes(&rd, le16_get(rec->len));
		if (!arg)
			break;
		ask(&st, rec, arg, le16_get(rec->len));
		fs_server_stats(st.k.s, &stats);
		bug_on(stats.n_fds > FS_FDS_MIN);
	}
	if (st.maps)
		look_at_window(&st);
	check_outside(&st);
	fs_server_reset(st.k.s);
	fs_server_stats(st.k.s, &stats);
	bug_on(stats.n_inodes != 1 || stats.n_handles);
	bug_on(st.maps && st.w.w.n_mapped);
	check_count(&st, &stats);
	fk_done(&st.k);
	if (st.maps)
		fw_done(&st.w);
	return 0;
}

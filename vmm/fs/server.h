/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/server.h - a FUSE server for one shared folder
 *
 * How it works.  A request is a list of readable pieces and a list of writable
 * ones, as a virtio-fs queue has them; the server knows neither virtio nor
 * guest memory.  Any number of threads may call fs_serve() at once.  Each call
 * makes its system calls and returns: it never waits for another request.  What
 * has to wait for a lock is not done, and to be served again.
 *
 * All it keeps is in two tables: inodes, which the guest has looked up and not
 * yet forgotten, and handles, which it has opened.  An inode is a place (parent
 * and name) and an identity, see inode.h; an inode costs memory and no
 * descriptor, so that a guest may know more files than a process may open.
 *
 * Everything in the two lists belongs to the guest, which may change it while
 * we look: what is decided upon is copied first (req.h).
 */
#ifndef HUTCH_VMM_FS_SERVER_H
#define HUTCH_VMM_FS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/err.h"

/* Least and most of fs_opts.fds_max; the least is enough for 16 workers. */
#define FS_FDS_MIN 64u
#define FS_FDS_MAX (1u << 20)

/*
 * Bytes of what a guest makes a server remember: inodes, their names, and what
 * is read ahead of folders.  Beyond, a lookup or a listing gives ENFILE.  A file
 * is some 250 bytes with a name of 30, so that any guest may know a million.
 * Linux, where it has memory, forgets none; a file is more than 1 KiB to it.  So
 * there may be a quarter of the guest's memory, of which it can run out first.
 */
#define FS_MEM_MIN   (256ull << 20)
#define FS_MEM_MAX   (16ull << 30)
#define FS_MEM_SHARE 4u

/* Bytes of one READ or WRITE: what INIT tells the guest. */
#define FS_IO_MAX (1u << 20)

/* Entries that fs_serve() takes in either list. */
#define FS_PIECES_MAX 1024u

/* A shared regular file has this name in the folder that the guest sees. */
#define FS_FILE_NAME "file"

/* What fs_serve() returns for a request that is to be put aside. */
#define FS_SERVE_LATER SIZE_MAX

/**
 * enum fs_cache - What the guest may remember
 * @FS_CACHE_AUTO:	names and attributes for a second, data until a file
 *			that changed meanwhile is opened again
 * @FS_CACHE_ALWAYS:	everything: nobody else changes the folder
 * @FS_CACHE_NEVER:	nothing, not even pages of open files
 */
enum fs_cache {
	FS_CACHE_AUTO,
	FS_CACHE_ALWAYS,
	FS_CACHE_NEVER,
};

/**
 * enum fs_owner - Whose the files are
 * @FS_OWNER_HOST:	the host user's; the guest sees them as fs_opts.uid, gid
 * @FS_OWNER_MAPPED:	the guest's: owner, mode and type are kept in an
 *			attribute of each file, common/mapped.h
 */
enum fs_owner {
	FS_OWNER_HOST,
	FS_OWNER_MAPPED,
};

/**
 * enum fs_dax - Which regular files the guest is to map instead of reading them
 * @FS_DAX_NEVER:	none; there is no window
 * @FS_DAX_INODE:	those of FS_DAX_SIZE_MIN (dax.h) and more
 * @FS_DAX_ALWAYS:	all
 */
enum fs_dax {
	FS_DAX_NEVER,
	FS_DAX_INODE,
	FS_DAX_ALWAYS,
};

/**
 * enum fs_locks - Where locks of files hold
 * @FS_LOCKS_GUEST:	in the guest alone; it does not tell of them
 * @FS_LOCKS_HOST:	on the host's files, see lock.h
 */
enum fs_locks {
	FS_LOCKS_GUEST,
	FS_LOCKS_HOST,
};

/**
 * struct fs_mapping - A piece of a file, in the guest's memory
 * @off:	Where in the window
 * @len:	Bytes, within the window
 * @fd:		The file, borrowed, open for writing too if @writable
 * @file_off:	Where in the file
 * @writable:	The guest may change the file
 * @node:	The guest's number of it
 *
 * All but @fd and @node are whole units of 2 MiB.
 */
struct fs_mapping {
	uint64_t off;
	uint64_t len;
	int fd;
	uint64_t file_off;
	bool writable;
	uint64_t node;
};

/**
 * struct fs_window_ops - Memory of the guest into which files can be mapped
 * @map:	Put it there, in place of what is there. Return: 0 or -errno
 * @unmap:	Take away what is there. Return: 0 or -errno
 * @clear:	Take away everything
 * @heal:	File @node may have grown: show what was hidden past its end
 *
 * Context: any thread, several at once, no lock held.
 */
struct fs_window_ops {
	int (*map)(void *ctx, const struct fs_mapping *m);
	int (*unmap)(void *ctx, uint64_t off, uint64_t len);
	void (*clear)(void *ctx);
	void (*heal)(void *ctx, uint64_t node);
};

/**
 * struct fs_opts - What is shared, and how
 * @root_fd:	The folder (O_PATH is enough), or one regular file, opened for
 *		what the guest may do with it: a file cannot be opened again
 *		where there is no /proc. The server's from the call on, even
 *		if it fails
 * @ro:		Nothing in it changes
 * @cache:	As above
 * @owner:	As above
 * @uid:	FS_OWNER_HOST: whom files of the host user seem to belong to
 * @gid:	The same for the host user's group
 * @upper:	It is to be the upper layer of an overlayfs: refuse a host's file
 *		system that has not got what that needs
 * @lower:	It is to be a lower layer of an overlayfs with xino=on, which sets
 *		the highest bits of its inodes' numbers: see fs_attr_number()
 * @quota_bytes: How much it may grow to, see quota.h; 0 for as much as there is
 * @quota_inodes: The same for files and folders; 0 for one for each
 *		FS_QUOTA_INODE_BYTES of @quota_bytes
 * @fds_max:	Descriptors that the server may hold, FS_FDS_MIN to FS_FDS_MAX;
 *		four more a worker while it serves
 * @guest_mem:	Bytes of the guest's memory, of which there may be one in
 *		FS_MEM_SHARE here, FS_MEM_MIN to FS_MEM_MAX; 0 for the least
 * @dax:	As above
 * @window:	Unless that is FS_DAX_NEVER, with @window_ctx
 * @window_len:	Its length, whole units of 2 MiB
 * @locks:	As above
 * @freed:	A lock may be had now that could not: serve again what waits; may
 *		be NULL. Context: as fs_serve(), no lock held
 * @freed_ctx:	For it
 * @copy:	As memcpy() for bytes of which one side is a request's; NULL if
 *		all of a request is memory like other. Return: 0, or -errno,
 *		which is then that of the request. Context: as fs_serve()
 *
 * What a guest creates gets the mode it asks for, less the umask of this
 * process, which should be 0.
 */
struct fs_opts {
	int root_fd;
	bool ro;
	enum fs_cache cache;
	enum fs_owner owner;
	uint32_t uid;
	uint32_t gid;
	bool upper;
	bool lower;
	uint64_t quota_bytes;
	uint64_t quota_inodes;
	unsigned int fds_max;
	uint64_t guest_mem;
	enum fs_dax dax;
	const struct fs_window_ops *window;
	void *window_ctx;
	uint64_t window_len;
	enum fs_locks locks;
	void (*freed)(void *ctx);
	void *freed_ctx;
	int (*copy)(const void *ctx, void *dst, const void *src, size_t len);
	const void *copy_ctx;
};

struct fs_server;

/**
 * struct fs_stats - What a server holds now
 * @n_inodes:	Files and folders that the guest knows, and their parents
 * @n_handles:	Of these, what it has open
 * @n_fds:	Descriptors, without the folder's own and those of requests
 * @bytes:	Of the quota, in use or promised; 0 without one
 * @inodes:	The same
 */
struct fs_stats {
	unsigned int n_inodes;
	unsigned int n_handles;
	unsigned int n_fds;
	uint64_t bytes;
	uint64_t inodes;
};

/**
 * fs_server_new() - Share a folder or a file
 *
 * Return: 0, or -errno with the sentence in @e
 */
MUST_CHECK int fs_server_new(const struct fs_opts *o, struct fs_server **ret,
			     struct err *e);

/**
 * fs_server_settle() - Leave the count of a quota for the next server
 *
 * What is asked after that is EIO. Not if a request is under way: then the next
 * server counts. Nothing without a quota.
 *
 * Context: any thread
 */
void fs_server_settle(struct fs_server *s);

/** fs_server_free() - No request is being served any more; takes NULL */
void fs_server_free(struct fs_server *s);

/**
 * fs_server_reset() - The driver starts anew: drop all that it knew and opened
 *
 * Context: any thread, also while requests are served; those end in their own
 * way, with an error or without.
 */
void fs_server_reset(struct fs_server *s);

/** fs_server_stats() - Context: any thread */
void fs_server_stats(struct fs_server *s, struct fs_stats *ret);

/**
 * fs_serve() - Answer one request
 * @in:		Pieces to read, not changed; @n_in up to FS_PIECES_MAX
 * @out:	Pieces for the answer; @n_out up to FS_PIECES_MAX
 *
 * A request that is not sound gets an errno; one that is too short to be
 * answered, or whose answer does not fit, gets none.
 *
 * Context: any thread, several at once; blocks as the host's file system does.
 *
 * Return: bytes written to @out; 0 if there is no reply; FS_SERVE_LATER if it
 *         waits for a lock: nothing was done, serve it again after a while and
 *         when @freed says so, or refuse it
 */
size_t fs_serve(struct fs_server *s, const struct iovec *in, unsigned int n_in,
		const struct iovec *out, unsigned int n_out);

/**
 * fs_refuse() - Answer one request with an errno, whatever it asks
 * @error:	Negative
 *
 * Return: as fs_serve(), and never FS_SERVE_LATER
 */
size_t fs_refuse(struct fs_server *s, const struct iovec *in, unsigned int n_in,
		 const struct iovec *out, unsigned int n_out, int error);

#endif

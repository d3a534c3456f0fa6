/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/proto.h - the FUSE protocol as Linux 6.12 speaks it (7.41)
 *
 * The names are those of linux/fuse.h; what that of an older system does not
 * have yet follows.  All integers are the guest's own, which is little-endian
 * like every host that we run on.
 */
#ifndef HUTCH_VMM_FS_PROTO_H
#define HUTCH_VMM_FS_PROTO_H

#include <endian.h>
#include <linux/fuse.h>

#if __BYTE_ORDER != __LITTLE_ENDIAN
#error "FUSE messages are in the guest's byte order, which is little-endian"
#endif

#if FUSE_KERNEL_MINOR_VERSION < 39
#define FUSE_DIRECT_IO_ALLOW_MMAP (1ULL << 36)

#define FUSE_STATX 52

struct fuse_sx_time {
	int64_t tv_sec;
	uint32_t tv_nsec;
	int32_t __reserved;
};

struct fuse_statx {
	uint32_t mask;
	uint32_t blksize;
	uint64_t attributes;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint16_t mode;
	uint16_t __spare0[1];
	uint64_t ino;
	uint64_t size;
	uint64_t blocks;
	uint64_t attributes_mask;
	struct fuse_sx_time atime;
	struct fuse_sx_time btime;
	struct fuse_sx_time ctime;
	struct fuse_sx_time mtime;
	uint32_t rdev_major;
	uint32_t rdev_minor;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t __spare2[14];
};

struct fuse_statx_in {
	uint32_t getattr_flags;
	uint32_t reserved;
	uint64_t fh;
	uint32_t sx_flags;
	uint32_t sx_mask;
};

struct fuse_statx_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec;
	uint32_t flags;
	uint64_t spare[2];
	struct fuse_statx stat;
};
#endif

#if FUSE_KERNEL_MINOR_VERSION < 40
#define FUSE_NO_EXPORT_SUPPORT (1ULL << 38)
#endif

_Static_assert(FUSE_KERNEL_MINOR_VERSION >= 38, "linux/fuse.h of Linux 6.1");
_Static_assert(sizeof(struct fuse_in_header) == 40, "FUSE 7.41");
_Static_assert(sizeof(struct fuse_out_header) == 16, "FUSE 7.41");
_Static_assert(sizeof(struct fuse_attr) == 88, "FUSE 7.41");
_Static_assert(sizeof(struct fuse_entry_out) == 128, "FUSE 7.41");
_Static_assert(sizeof(struct fuse_init_out) == 64, "FUSE 7.41");
_Static_assert(sizeof(struct fuse_statx_out) == 288, "FUSE 7.41");

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_config.c - vmm/config.c: the monitor's command line */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/check_main.h"
#include "vmm/config.h"

#define WORDS_MAX 24

/* A line of words parted by blanks; the kernel's option is put in front. */
static int parse(const char *line, struct config *c, struct err *e)
{
	static char buf[1024];
	char *argv[WORDS_MAX] = { buf }, *save = NULL;
	int argc = 0;

	(void)snprintf(buf, sizeof(buf), "hutch-vmm --kernel k %s", line);
	for (char *w = strtok_r(buf, " ", &save); w && argc < WORDS_MAX - 1;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	*e = (struct err){ 0 };
	return config_parse(c, argc, argv, e);
}

START_TEST(defaults_are_small_and_connect_nothing)
{
	struct config c;
	struct err e;

	ck_assert_int_eq(parse("", &c, &e), 0);
	ck_assert_str_eq(c.kernel.path, "k");
	ck_assert_uint_eq(c.cpus, 1);
	ck_assert_uint_eq(c.memory, 256u << 20);
	ck_assert_int_eq(c.vsock.fd, -1);
	ck_assert_int_eq(c.lifeline_fd, -1);
	ck_assert_int_eq(c.connector_fd, -1);
	ck_assert_uint_eq(c.n_controls, 0);
	ck_assert_ptr_null(c.cmdline);
}
END_TEST

START_TEST(every_option_is_taken_in_both_spellings)
{
	struct config c;
	struct err e;

	ck_assert_int_eq(parse("--cpus=32 --memory 64M --cmdline=a=b "
			       "--initrd i --agent=a --boot-config fd=9 "
			       "--vsock fd=7 --connector fd=8 --console - "
			       "--control p --control=fd=5 --lifeline fd=0",
			       &c, &e),
			 0);
	ck_assert_uint_eq(c.cpus, 32);
	ck_assert_uint_eq(c.memory, 64u << 20);
	ck_assert_str_eq(c.cmdline, "a=b");
	ck_assert_str_eq(c.initrd.path, "i");
	ck_assert_str_eq(c.agent.path, "a");
	ck_assert_int_eq(c.boot.fd, 9);
	ck_assert_int_eq(c.vsock.fd, 7);
	ck_assert_int_eq(c.connector_fd, 8);
	ck_assert(c.console_stdout);
	ck_assert_uint_eq(c.n_controls, 2);
	ck_assert_str_eq(c.control[0].path, "p");
	ck_assert_int_eq(c.control[1].fd, 5);
	ck_assert_int_eq(c.lifeline_fd, 0);
}
END_TEST

START_TEST(each_bad_option_is_refused_by_name)
{
	static const struct {
		const char *line;
		const char *says;
	} bad[] = {
		{ "--no-such-flag", "--no-such-flag" },
		{ "stray", "stray" },
		{ "--cpus", "--cpus" },
		{ "--cpus 0", "--cpus" },
		{ "--cpus 33", "--cpus" },
		{ "--cpus 1000", "--cpus" },
		{ "--cpus -1", "--cpus" },
		{ "--cpus 1x", "--cpus" },
		{ "--cpus=", "--cpus" },
		{ "--memory 1M", "64M" },
		{ "--memory 67108863", "64M" },
		{ "--memory 67108865", "4096" },
		{ "--memory 100T", "host" },
		{ "--memory 99999999999999999999", "--memory" },
		{ "--memory lots", "--memory" },
		{ "--memory -1", "--memory" },
		{ "--help=x", "--help" },
		{ "--lifeline 3", "fd=N" },
		{ "--lifeline fd=", "--lifeline" },
		{ "--lifeline fd=-1", "--lifeline" },
		{ "--lifeline fd=1x", "--lifeline" },
		{ "--lifeline fd=4294967299", "--lifeline" },
		{ "--connector path", "fd=N" },
		{ "--vsock fd=x", "--vsock" },
		{ "--vsock=", "--vsock" },
		{ "--console=", "--console" },
		{ "--kernel=", "--kernel" },
		{ "--boot-config b", "--agent" },
		{ "--boot-config fd=3", "--agent" },
		{ "--fs=", "'' is no word" },
		{ "--fs dir=/", "tag is missing" },
		{ "--fs tag=,dir=/", "1 to 36 bytes, not 0" },
		{ "--fs tag=0123456789012345678901234567890123456,dir=/",
		  "1 to 36 bytes, not 37" },
		{ "--fs tag=t", "one of dir=PATH and fd=N" },
		{ "--fs tag=t,dir=/,fd=3", "one of dir=PATH and fd=N" },
		{ "--fs tag=t,dir=", "path has 1 to" },
		{ "--fs tag=t,fd=x", "fd" },
		{ "--fs tag=t,fd=-1", "fd" },
		{ "--fs tag=t,fd", "fd needs a value" },
		{ "--fs tag=t,dir=/,ro=1", "ro takes no value" },
		{ "--fs tag=t,dir=/,ro,ro", "ro is given twice" },
		{ "--fs tag=t,tag=u,dir=/", "tag is given twice" },
		{ "--fs tag=t,dir=/,", "'' is no word" },
		{ "--fs tag=t,dir=/,dax", "dax needs a value" },
		{ "--fs tag=t,dir=/,dax=yes", "not 'yes'" },
		{ "--fs tag=t,dir=/,locks=no", "guest or host, not 'no'" },
		{ "--fs tag=t,dir=/,window=1G", "for dax=inode or" },
		{ "--fs tag=t,dir=/,dax=never,window=1G", "for dax=inode or" },
		{ "--fs tag=t,dir=/,ro,cache=always,dax=auto,window=1G",
		  "for dax=inode or" },
		{ "--fs tag=t,dir=/,dax=inode,window=14M", "16M to 1024M" },
		{ "--fs tag=t,dir=/,dax=inode,window=1026M", "not '1026M'" },
		{ "--fs tag=t,dir=/,dax=inode,window=65M", "steps of 2M" },
		{ "--fs tag=t,dir=/,dax=inode,window=x", "--fs: window" },
		{ "--fs tag=t,dir=/,quota=1G", "quota is for owner=mapped" },
		{ "--fs tag=t,dir=/,owner=mapped,ro,quota=1G", "not for ro" },
		{ "--fs tag=t,dir=/,owner=mapped,quota=1023K", "at least 1M" },
		{ "--fs tag=t,dir=/,owner=mapped,quota=9E", "quota" },
		{ "--fs tag=t,dir=/,owner=mapped,quota=", "quota" },
		{ "--fs tag=t,dir=/,owner=mapped,inodes=5", "needs quota" },
		{ "--fs tag=t,dir=/,owner=mapped,quota=1G,inodes=0", "inodes" },
		{ "--fs tag=t,dir=/,lock", "'lock' is no word" },
		{ "--fs tag=t,dir=/,cache=writeback", "not 'writeback'" },
		{ "--fs tag=t,dir=/,owner=me", "not 'me'" },
		{ "--fs tag=t,dir=/,uid=4294967295", "uid" },
		{ "--fs tag=t,dir=/,gid=x", "gid" },
		{ "--fs tag=t,dir=/,owner=mapped,uid=1", "for owner=host" },
		{ "--fs tag=t,dir=/,owner=mapped,gid=1", "for owner=host" },
		{ "--fs tag=t,dir=/,upper", "upper is for owner=mapped" },
		{ "--fs tag=t,dir=/,owner=mapped,ro,upper", "not for ro" },
		{ "--fs tag=t,dir=/,lower", "lower is for ro" },
		{ "--fs tag=t,dir=/,queues=0", "queues" },
		{ "--fs tag=t,dir=/,queues=8", "queues" },
		{ "--fs tag=t,dir=/ --fs tag=t,dir=/tmp", "t is given twice" },
		{ "--control a --control b --control c --control d --control "
		  "e --control f --control g --control h --control i",
		  "--control" },
	};
	struct config c;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int r = parse(bad[i].line, &c, &e);

		ck_assert_msg(r == -EINVAL || r == -ERANGE, "'%s' gave %d",
			      bad[i].line, r);
		ck_assert_msg(strstr(e.msg, bad[i].says), "'%s' says '%s'",
			      bad[i].line, e.msg);
		ck_assert_ptr_null(strchr(e.msg, '\n'));
	}
}
END_TEST

START_TEST(shares_are_read_word_by_word)
{
	struct config c;
	struct err e;

	ck_assert_int_eq(
		parse("--fs tag=a,dir=/a/b=c "
		      "--fs ro,queues=7,fd=5,cache=never,uid=1000,"
		      "gid=4294967294,owner=host,tag=b "
		      "--fs=cache=always,owner=mapped,upper,tag=c,"
		      "quota=2G,inodes=7,dir=d,"
		      "dax=inode,locks=guest "
		      "--fs window=1G,dax=always,tag=d,dir=d,locks=host",
		      &c, &e),
		0);
	ck_assert_uint_eq(c.n_shares, 4);
	ck_assert_int_eq(c.share[0].dax, FS_DAX_NEVER);
	ck_assert_uint_eq(c.share[0].window, 0);
	ck_assert_int_eq(c.share[2].dax, FS_DAX_INODE);
	ck_assert_uint_eq(c.share[2].window, 64 << 20);
	ck_assert_int_eq(c.share[3].dax, FS_DAX_ALWAYS);
	ck_assert_uint_eq(c.share[3].window, 1 << 30);
	ck_assert_int_eq(c.share[0].locks, FS_LOCKS_GUEST);
	ck_assert_int_eq(c.share[2].locks, FS_LOCKS_GUEST);
	ck_assert_int_eq(c.share[3].locks, FS_LOCKS_HOST);
	ck_assert_str_eq(c.share[0].tag, "a");
	ck_assert_uint_eq(c.share[0].dir_len, 6);
	ck_assert_mem_eq(c.share[0].dir, "/a/b=c", 6);
	ck_assert_int_eq(c.share[0].fd, -1);
	ck_assert(!c.share[0].ro);
	ck_assert_int_eq(c.share[0].cache, FS_CACHE_AUTO);
	ck_assert_int_eq(c.share[0].owner, FS_OWNER_HOST);
	ck_assert_uint_eq(c.share[0].queues, 1);
	ck_assert_str_eq(c.share[1].tag, "b");
	ck_assert_ptr_null(c.share[1].dir);
	ck_assert_int_eq(c.share[1].fd, 5);
	ck_assert(c.share[1].ro);
	ck_assert_int_eq(c.share[1].cache, FS_CACHE_NEVER);
	ck_assert_uint_eq(c.share[1].uid, 1000);
	ck_assert_uint_eq(c.share[1].gid, UINT32_MAX - 1);
	ck_assert_uint_eq(c.share[1].queues, 7);
	ck_assert_int_eq(c.share[2].cache, FS_CACHE_ALWAYS);
	ck_assert_int_eq(c.share[2].owner, FS_OWNER_MAPPED);
	ck_assert(c.share[2].upper && !c.share[0].upper);
	ck_assert_uint_eq(c.share[2].quota_bytes, 2ull << 30);
	ck_assert_uint_eq(c.share[2].quota_inodes, 7);
	ck_assert_uint_eq(c.share[0].quota_bytes, 0);
}
END_TEST

/* What nobody changes, and in a VM that is large enough; options in any order. */
START_TEST(files_are_mapped_unasked_where_nobody_changes_them)
{
	static const struct {
		const char *line;
		enum fs_dax dax;
		uint64_t window;
	} v[] = {
		{ "--fs tag=t,dir=/,ro,cache=always --memory 512M",
		  FS_DAX_INODE, SHARE_WINDOW_DEFAULT },
		{ "--memory 1G --fs tag=t,dir=/,ro,cache=always,dax=auto",
		  FS_DAX_INODE, SHARE_WINDOW_DEFAULT },
		{ "--memory 508M --fs tag=t,dir=/,ro,cache=always",
		  FS_DAX_NEVER, 0 },
		{ "--fs tag=t,dir=/,ro,cache=always,lower", FS_DAX_NEVER, 0 },
		{ "--memory 1G --fs tag=t,dir=/,ro", FS_DAX_NEVER, 0 },
		{ "--memory 1G --fs tag=t,dir=/,cache=always", FS_DAX_NEVER,
		  0 },
		{ "--memory 1G --fs tag=t,dir=/,ro,cache=always,dax=never",
		  FS_DAX_NEVER, 0 },
		{ "--memory 1G --fs "
		  "tag=t,dir=/,ro,cache=always,dax=always,window=16M",
		  FS_DAX_ALWAYS, SHARE_WINDOW_MIN },
		{ "--memory 128M --fs tag=t,dir=/,ro,cache=always,dax=inode",
		  FS_DAX_INODE, SHARE_WINDOW_DEFAULT },
	};
	struct config c;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		ck_assert_msg(parse(v[i].line, &c, &e) == 0, "%s", e.msg);
		ck_assert_msg(c.share[0].dax == v[i].dax, "%s", v[i].line);
		ck_assert_uint_eq(c.share[0].window, v[i].window);
		ck_assert(c.share[0].lower ==
			  (strstr(v[i].line, "lower") != NULL));
	}
}
END_TEST

START_TEST(sixteen_shares_are_taken_and_no_more)
{
	char line[512] = "";
	struct config c;
	struct err e;

	for (unsigned int i = 0; i <= SHARES_MAX; i++) {
		size_t len = strlen(line);

		ck_assert_int_eq(parse(line, &c, &e), 0);
		ck_assert_uint_eq(c.n_shares, i);
		(void)snprintf(line + len, sizeof(line) - len,
			       " --fs=tag=%u,dir=/", i);
	}
	ck_assert_int_eq(parse(line, &c, &e), -ERANGE);
	ck_assert_str_eq(e.msg, "--fs: more than 18 of them");
}
END_TEST

START_TEST(a_kernel_is_asked_for_but_not_by_help)
{
	char name[] = "hutch-vmm", help_word[] = "--help";
	char version_word[] = "--version";
	char *none[] = { name, NULL };
	char *help[] = { name, help_word, NULL };
	char *version[] = { name, version_word, NULL };
	struct err e = { 0 };
	struct config c;

	ck_assert_int_eq(config_parse(&c, 1, none, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.msg, "--kernel"));
	ck_assert_int_eq(config_parse(&c, 2, help, &e), 0);
	ck_assert(c.help);
	ck_assert_int_eq(config_parse(&c, 2, version, &e), 0);
	ck_assert(c.version);
}
END_TEST

START_TEST(help_names_every_option)
{
	static const char *const names[] = {
		"--kernel",  "--cpus",      "--memory",      "--cmdline",
		"--initrd",  "--agent",     "--boot-config", "--vsock",
		"--console", "--connector", "--control",     "--lifeline",
		"--help",    "--version",   "--fs",
	};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	ck_assert_int_eq(config_help(f), 0);
	(void)fclose(f);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ck_assert_ptr_nonnull(strstr(text, names[i]));
	free(text);
}
END_TEST

/** struct opened - What a child found; shared with it */
struct opened {
	int code;
	struct err e;
	int kept;    /* flags of the descriptor that was named */
	int dropped; /* errno of using the one that was not */
};

/* Opening closes what was not named, so a child does it. */
static struct opened open_with(const char *line, const int sv[2])
{
	struct opened *o = mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct opened copy;
	struct config c;
	pid_t pid;

	ck_assert_ptr_ne(o, MAP_FAILED);
	ck_assert_int_eq(parse(line, &c, &o->e), 0);
	c.kernel.path = "/proc/self/exe";
	pid = fork();
	if (pid == 0) {
		o->code = config_open(&c, &o->e);
		o->kept = sv ? fcntl(sv[0], F_GETFD) : 0;
		if (sv && recv(sv[1], o->e.msg, 1, MSG_DONTWAIT) < 0)
			o->dropped = errno;
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	copy = *o;
	(void)munmap(o, sizeof(*o));
	return copy;
}

START_TEST(files_that_cannot_be_used_are_refused_by_name)
{
	static const struct {
		const char *line;
		int code;
		const char *says;
	} bad[] = {
		{ "--initrd /nofile", -ENOENT,
		  "--initrd: cannot open '/nofile'" },
		{ "--initrd /", -EINVAL, "'/' is not a regular file" },
		{ "--agent /dev/null", -EINVAL, "--agent" },
		{ "--lifeline fd=77", -EINVAL, "descriptor 77 is not open" },
		{ "--control fd=78", -EINVAL, "descriptor 78 is not open" },
		{ "--control /nofolder/s", -ENOENT, "--control" },
		{ "--vsock /nofolder/s", -ENOENT, "--vsock" },
		{ "--console /nofolder/c", -ENOENT, "--console" },
		{ "--fs tag=t,dir=/nofolder", -ENOENT,
		  "--fs: tag=t: cannot open '/nofolder'" },
		{ "--fs tag=t,dir=/dev/null", -ENOTDIR, "neither a folder" },
		{ "--fs tag=t,fd=79", -EINVAL, "descriptor 79 is not open" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct opened o = open_with(bad[i].line, NULL);

		ck_assert_int_eq(o.code, bad[i].code);
		ck_assert_msg(strstr(o.e.msg, bad[i].says), "'%s' says '%s'",
			      bad[i].line, o.e.msg);
	}
}
END_TEST

START_TEST(descriptors_that_were_not_named_are_closed)
{
	struct opened o;
	char line[64];
	int sv[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	(void)snprintf(line, sizeof(line), "--control fd=%d", sv[0]);
	o = open_with(line, sv);
	ck_assert_int_eq(o.code, 0);
	ck_assert_int_eq(o.kept, FD_CLOEXEC);
	/* The number may be in use again, but no longer for a socket. */
	ck_assert(o.dropped == EBADF || o.dropped == ENOTSOCK);
	(void)close(sv[0]);
	(void)close(sv[1]);
}
END_TEST

/* How the descriptor of a file to share is open; whether it may not be. */
START_TEST(file_is_shared_if_it_is_open_for_that)
{
	static const struct {
		int flags;
		int code;
		const char *more;
	} ways[] = {
		{ O_RDWR, 0, "" },
		{ O_RDONLY, 0, ",ro" },
		{ O_RDWR, 0, ",ro" },
		{ O_RDONLY, -EACCES, "" },
		{ O_PATH, -EACCES, ",ro" },
		{ O_WRONLY, -EACCES, "" },
		{ O_RDWR | O_APPEND, -EINVAL, "" },
		{ O_RDWR | O_APPEND, 0, ",ro" },
	};
	char path[] = "/tmp/hutch-config-XXXXXX", line[64];
	int made = mkstemp(path);

	ck_assert_int_ge(made, 0);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		int fd = open(path, ways[i].flags | O_CLOEXEC);
		struct opened o;

		ck_assert_int_ge(fd, 0);
		(void)snprintf(line, sizeof(line), "--fs tag=t,fd=%d%s", fd,
			       ways[i].more);
		o = open_with(line, NULL);
		ck_assert_int_eq(o.code, ways[i].code);
		(void)close(fd);
	}
	(void)snprintf(line, sizeof(line), "--fs tag=t,dir=%s", path);
	ck_assert_int_eq(open_with(line, NULL).code, 0);
	(void)close(made);
	(void)unlink(path);
}
END_TEST

CHECK_MAIN("config", defaults_are_small_and_connect_nothing,
	   every_option_is_taken_in_both_spellings,
	   each_bad_option_is_refused_by_name, shares_are_read_word_by_word,
	   files_are_mapped_unasked_where_nobody_changes_them,
	   sixteen_shares_are_taken_and_no_more,
	   file_is_shared_if_it_is_open_for_that,
	   a_kernel_is_asked_for_but_not_by_help, help_names_every_option,
	   files_that_cannot_be_used_are_refused_by_name,
	   descriptors_that_were_not_named_are_closed)

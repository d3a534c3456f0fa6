/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/guest_rights.c - who may do what on the root of an image
 *
 *	guest_rights who		"UID EUID EGID RAW" of this process: RAW is 1
 *					if it gets a raw socket
 *	guest_rights image		all is as make_rights.py has it
 *	guest_rights copied		the same, of copies on the disk
 *	guest_rights kept		the same, without making copies first
 *	guest_rights changed		what takes rights away does, and what is
 *					made gets those that it is to have
 *
 * Each but the first as root, in the VM's /; says what is wrong and ends with 1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ANN    1000
#define OTHER  2000
#define STAFF  50
#define SPARSE (64ll << 20)
#define MTIME  1000000000
#define NSEC   123456789
#define CAP    "security.capability"
#define ACCESS "system.posix_acl_access"
#define DEFLT  "system.posix_acl_default"

static int failed;

static void is(long want, long got, const char *what, const char *of)
{
	if (want == got)
		return;
	(void)printf("%s of %s: wanted %ld, got %ld (0%lo, 0%lo)\n", what, of,
		     want, got, (unsigned long)want, (unsigned long)got);
	failed = 1;
}

static struct stat look(const char *path)
{
	struct stat st = { 0 };

	if (lstat(path, &st) < 0) {
		(void)printf("%s: %s\n", path, strerror(errno));
		failed = 1;
	}
	return st;
}

/* Bytes of an attribute, or -errno. */
static long attr(const char *path, const char *name)
{
	char buf[256];
	ssize_t n = getxattr(path, name, buf, sizeof(buf));

	return n < 0 ? -errno : n;
}

/* Run "PATH who" as an ordinary user. Return: what it says; "?" */
static const char *who(const char *path, char said[64])
{
	int p[2], st = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(p) < 0)
		return "?";
	pid = fork();
	if (pid == 0) {
		if (dup2(p[1], STDOUT_FILENO) < 0 || setgid(OTHER) < 0 ||
		    setuid(ANN) < 0)
			_exit(9);
		(void)execl(path, path, "who", (char *)NULL);
		_exit(8);
	}
	(void)close(p[1]);
	n = read(p[0], said, 63);
	(void)close(p[0]);
	said[n > 0 ? n - 1 : 0] = '\0';
	return waitpid(pid, &st, 0) == pid && st == 0 ? said : "?";
}

static void says(const char *path, const char *want)
{
	char said[64];
	const char *got = who(path, said);

	if (strcmp(got, want) == 0)
		return;
	(void)printf("%s, run by ann: wanted '%s', got '%s'\n", path, want,
		     got);
	failed = 1;
}

/* Return: 0, or the errno of opening @path as that user */
static int opens(uid_t uid, const char *path, int flags)
{
	pid_t pid = fork();
	int st = 0;

	if (pid == 0) {
		if (setgid(OTHER) < 0 || setuid(uid) < 0)
			_exit(255);
		_exit(open(path, flags | O_CLOEXEC) < 0 ? errno : 0);
	}
	return waitpid(pid, &st, 0) == pid && WIFEXITED(st) ? WEXITSTATUS(st)
							    : 255;
}

static void write_to(const char *path, int flags, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    close(fd) < 0) {
		(void)printf("write %s: %s\n", path, strerror(errno));
		failed = 1;
	}
}

static void files(void)
{
	static const struct {
		const char *path;
		mode_t mode;
		long cap, acl;
	} v[] = {
		{ "/plain", 0755, -ENODATA, -ENODATA },
		{ "/suid", 04755, -ENODATA, -ENODATA },
		{ "/sgid", 02755, -ENODATA, -ENODATA },
		{ "/cap", 0755, 20, -ENODATA },
		{ "/acl", 0660, -ENODATA, 4 + 5 * 8 },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct stat st = look(v[i].path);

		is(v[i].mode, st.st_mode & 07777, "mode", v[i].path);
		is(0, st.st_uid, "owner", v[i].path);
		is(MTIME, st.st_mtim.tv_sec, "time", v[i].path);
		is(NSEC, st.st_mtim.tv_nsec, "nanoseconds", v[i].path);
		is(v[i].cap, attr(v[i].path, CAP), "capability", v[i].path);
		is(v[i].acl, attr(v[i].path, ACCESS), "ACL", v[i].path);
		is(1, attr(v[i].path, "user.mine"), "user.mine", v[i].path);
		is(1, attr(v[i].path, "trusted.t"), "trusted.t", v[i].path);
	}
	says("/plain", "1000 1000 2000 0");
	says("/suid", "1000 0 2000 1");
	says("/sgid", "1000 1000 50 0");
	says("/cap", "1000 1000 2000 1");
	is(0, opens(ANN, "/acl", O_RDWR), "open by ann", "/acl");
	is(EACCES, opens(OTHER, "/acl", O_RDONLY), "open by other", "/acl");
}

static void folder(void)
{
	struct stat st = look("/dir");

	is(02775, st.st_mode & 07777, "mode", "/dir");
	is(STAFF, st.st_gid, "group", "/dir");
	is(4 + 5 * 8, attr("/dir", DEFLT), "default ACL", "/dir");
}

static void holes(void)
{
	struct stat st = look("/sparse");

	is(SPARSE, st.st_size, "size", "/sparse");
	/* overlayfs copies a MiB at a time. */
	is(1, st.st_blocks * 512 < (4 << 20), "few blocks", "/sparse");
}

/* Of all in the root: what readdir() says, what floating point makes of it. */
static void numbers(void)
{
	DIR *d = opendir("/");
	const struct dirent *de;

	while (d && (de = readdir(d)) != NULL) {
		struct stat st = look(de->d_name);

		if (!S_ISREG(st.st_mode))
			continue;
		is((long)st.st_ino, (long)de->d_ino, "number", de->d_name);
		is((long)st.st_ino, (long)(ino_t)(double)st.st_ino,
		   "number in floating point", de->d_name);
	}
	if (d)
		(void)closedir(d);
}

static void image(void)
{
	files();
	folder();
	holes();
	is(2, (long)look("/one").st_nlink, "links", "/one");
	numbers();
	is((long)look("/one").st_ino, (long)look("/two").st_ino, "number",
	   "/two");
}

static void kept(void)
{
	files();
	folder();
	holes();
	/* As said of images: who is written parts from the others. */
	is(11, look("/one").st_size, "size", "/one");
	is(4, look("/two").st_size, "size", "/two");
	is((long)look("/one").st_ino, (long)look("/three").st_ino, "number",
	   "/three");
}

/* A change that changes nothing makes the copy. */
static void copied(void)
{
	static const char *const path[] = { "/suid", "/sgid",   "/cap",  "/acl",
					    "/dir",  "/sparse", "/plain" };

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if (chmod(path[i], look(path[i]).st_mode & 07777) < 0) {
			perror(path[i]);
			failed = 1;
		}
	write_to("/one", O_APPEND, "more\n");
	is(0, link("/one", "/three"), "link", "/one");
	write_to("/three", O_APPEND, "!\n");
	kept();
}

static void inherited(void)
{
	(void)umask(077);
	write_to("/dir/file", O_CREAT | O_EXCL, "x");
	is(0, mkdir("/dir/sub", 0777), "mkdir", "/dir/sub");
	/* The ACL takes the place of the umask. */
	is(0660, look("/dir/file").st_mode & 07777, "mode", "/dir/file");
	is(02770, look("/dir/sub").st_mode & 07777, "mode", "/dir/sub");
	is(STAFF, look("/dir/file").st_gid, "group", "/dir/file");
	is(4 + 5 * 8, attr("/dir/file", ACCESS), "ACL", "/dir/file");
	is(4 + 5 * 8, attr("/dir/sub", ACCESS), "ACL", "/dir/sub");
	is(4 + 5 * 8, attr("/dir/sub", DEFLT), "default ACL", "/dir/sub");
	is(0, opens(ANN, "/dir/sub", O_RDONLY), "open by ann, of /dir",
	   "/dir/sub");
}

static void changed(void)
{
	inherited();
	is(0, chown("/suid", ANN, ANN), "chown", "/suid");
	is(0, chown("/sgid", ANN, -1), "chown", "/sgid");
	is(0, chown("/cap", 0, ANN), "chown", "/cap");
	is(0755, look("/suid").st_mode & 07777, "mode after chown", "/suid");
	is(0755, look("/sgid").st_mode & 07777, "mode after chown", "/sgid");
	is(-ENODATA, attr("/cap", CAP), "capability after chown", "/cap");
	says("/suid", "1000 1000 2000 0");
	says("/cap", "1000 1000 2000 0");
	/* And written, it is another program. */
	is(0,
	   setxattr("/plain", CAP, "\1\0\0\2\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0",
		    20, 0),
	   "set capability", "/plain");
	says("/plain", "1000 1000 2000 1");
	write_to("/plain", O_APPEND, "\n");
	is(-ENODATA, attr("/plain", CAP), "capability after a write", "/plain");
	says("/plain", "1000 1000 2000 0");
	is(0, chmod("/acl", 0640), "chmod", "/acl");
	is(EACCES, opens(ANN, "/acl", O_RDWR), "open after chmod", "/acl");
	is(0, opens(ANN, "/acl", O_RDONLY), "read after chmod", "/acl");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "who") == 0)
		(void)printf("%u %u %u %d\n", getuid(), geteuid(), getegid(),
			     socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC,
				    IPPROTO_ICMP) >= 0);
	else if (strcmp(what, "image") == 0)
		image();
	else if (strcmp(what, "copied") == 0)
		copied();
	else if (strcmp(what, "kept") == 0)
		kept();
	else if (strcmp(what, "changed") == 0)
		changed();
	else
		return 2;
	return failed;
}

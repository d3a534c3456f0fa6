/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_files.c - files of a VM: libhutch against the agent's own
 * code, which here works in the files of this machine
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "common/tree.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

#define NOTES_MAX 2048

/**
 * struct place - A VM, and a folder with two in it: "vm" and "here"
 * @notes:	What was told of, a line each, as far as there is room
 * @last:	The last of it
 */
struct place {
	struct host_env v;
	struct hutch_fs *fs;
	char dir[64];
	int fd;
	char notes[NOTES_MAX];
	int n_notes;
	char last[256];
	char buf[4200];
};

static void take_note(void *arg, int code, const char *sentence)
{
	struct place *p = arg;
	size_t len = strlen(p->notes);

	(void)snprintf(p->notes + len, NOTES_MAX - len, "%d %s\n", code,
		       sentence);
	(void)snprintf(p->last, sizeof(p->last), "%d %s", code, sentence);
	p->n_notes++;
}

static void up(struct place *p)
{
	struct hutch_fs_opts o = HUTCH_FS_OPTS_INIT;

	memset(p, 0, sizeof(*p));
	host_up(&p->v);
	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/hutch-files-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(p->dir));
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(p->fd, "vm", 0755), 0);
	ck_assert_int_eq(mkdirat(p->fd, "here", 0755), 0);
	o.note = take_note;
	o.arg = p;
	ck_assert_int_eq(hutch_fs_open(p->v.h, "web", &o, &p->fs, &p->v.e), 0);
}

static void down(struct place *p)
{
	hutch_fs_close(p->fs);
	(void)close(p->fd);
	host_env_remove(p->dir);
	host_down(&p->v);
}

/* The path of @name, which is below p->dir; good until the next-but-three. */
static const char *at(struct place *p, const char *name)
{
	static unsigned int turn;
	static char bufs[4][4200];
	char *buf = bufs[turn++ % 4];

	(void)snprintf(buf, sizeof(bufs[0]), "%s/%s", p->dir, name);
	return buf;
}

static void put(struct place *p, const char *name, const char *text)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(errno));
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	ck_assert_int_eq(close(fd), 0);
}

static const char *text_of(struct place *p, const char *name)
{
	int fd = openat(p->fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, p->buf, sizeof(p->buf) - 1);

	if (fd >= 0)
		(void)close(fd);
	if (n < 0)
		return NULL;
	p->buf[n] = '\0';
	return p->buf;
}

static struct stat stat_of(struct place *p, const char *name)
{
	struct stat st = { 0 };

	ck_assert_msg(fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0,
		      "%s: %s", name, strerror(errno));
	return st;
}

/* How many entries a folder has. */
static int count(struct place *p, const char *name)
{
	char cmd[4300];
	FILE *f;
	int n = -1;

	(void)snprintf(cmd, sizeof(cmd), "ls -A %s/%s | wc -l", p->dir, name);
	f = popen(cmd, "re"); /* NOLINT(cert-env33-c): in a test */
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(cmd, sizeof(cmd), f));
	n = (int)strtol(cmd, NULL, 10);
	(void)pclose(f);
	return n;
}

static void run(const char *cmd, const char *dir)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "cd %s && %s", dir, cmd);
	/* NOLINTNEXTLINE(cert-env33-c): in a test */
	ck_assert_msg(system(line) == 0, "%s", line);
}

static void want(struct place *p, int r, int code, const char *words)
{
	ck_assert_msg(r == code, "%d, not %d: %s", r, code, p->v.e.msg);
	ck_assert_msg(strstr(p->v.e.msg, words) != NULL, "'%s' lacks '%s'",
		      p->v.e.msg, words);
}

/* ---- One file ---- */

static int append(void *arg, const void *data, size_t len)
{
	struct place *p = arg;
	size_t had = strlen(p->buf);

	ck_assert_uint_lt(had + len, sizeof(p->buf));
	memcpy(p->buf + had, data, len);
	p->buf[had + len] = '\0';
	return 0;
}

static int read_it(struct place *p, const char *name)
{
	p->buf[0] = '\0';
	return hutch_fs_read(p->fs, at(p, name), append, p, &p->v.e);
}

/* Write @text to a file of the VM. */
static int write_it(struct place *p, const char *name, unsigned int flags,
		    const char *text)
{
	int fd[2], r;

	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	ck_assert_int_eq(write(fd[1], text, strlen(text)), strlen(text));
	(void)close(fd[1]);
	r = hutch_fs_write(p->fs, at(p, name), flags, 0640, fd[0], &p->v.e);
	(void)close(fd[0]);
	return r;
}

START_TEST(a_file_is_written_and_read)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(write_it(&p, "vm/f", 0, "hello"), 0);
	ck_assert_str_eq(text_of(&p, "vm/f"), "hello");
	ck_assert_uint_eq(stat_of(&p, "vm/f").st_mode, S_IFREG | 0640);
	ck_assert_int_eq(read_it(&p, "vm/f"), 0);
	ck_assert_str_eq(p.buf, "hello");
	ck_assert_int_eq(write_it(&p, "vm/f", 0, ""), 0);
	ck_assert_int_eq(read_it(&p, "vm/f"), 0);
	ck_assert_str_eq(p.buf, "");
	down(&p);
}
END_TEST

START_TEST(what_linux_refuses_is_told_by_its_errno)
{
	struct hutch_file *f = NULL;
	struct place p;

	up(&p);
	put(&p, "vm/f", "x");
	want(&p, read_it(&p, "vm/none"), -ENOENT, "vm/none'");
	ck_assert_int_eq(hutch_fs_refused(p.fs), 1);
	want(&p, read_it(&p, "vm"), -EISDIR, "Is a directory");
	want(&p, write_it(&p, "vm", 0, ""), -EISDIR, "vm'");
	want(&p, write_it(&p, "vm/no/f", 0, ""), -ENOENT, "vm/no/f'");
	want(&p, write_it(&p, "vm/f/g", HUTCH_FS_ATOMIC, ""), -ENOTDIR, "f/g'");
	want(&p, hutch_fs_stat(p.fs, at(&p, "vm/g"), 0, &f, &p.v.e), -ENOENT,
	     "vm/g'");
	want(&p, hutch_fs_mkdir(p.fs, at(&p, "vm"), 0, 0755, &p.v.e), -EEXIST,
	     "vm'");
	want(&p,
	     hutch_fs_mkdir(p.fs, at(&p, "vm/f/d"), HUTCH_FS_PARENTS, 0755,
			    &p.v.e),
	     -ENOTDIR, "vm/f/d'");
	want(&p, hutch_fs_mkdir(p.fs, at(&p, "vm/a/b"), 0, 0755, &p.v.e),
	     -ENOENT, "vm/a/b'");
	want(&p, hutch_fs_remove(p.fs, at(&p, "vm"), HUTCH_FS_FORCE, &p.v.e),
	     -EISDIR, "vm'");
	want(&p, hutch_fs_remove(p.fs, at(&p, "vm/n"), 0, &p.v.e), -ENOENT,
	     "vm/n'");
	want(&p, hutch_fs_rename(p.fs, at(&p, "vm/f"), "/proc/f", &p.v.e),
	     -EXDEV, "a rename does not copy");
	/* What is refused on this side is not the VM's word. */
	want(&p, hutch_fs_stat(p.fs, "", 0, &f, &p.v.e), -EINVAL, "empty");
	ck_assert_int_eq(hutch_fs_refused(p.fs), 0);
	want(&p, hutch_fs_stat(p.fs, "/", 0x80, &f, &p.v.e), -EINVAL, "0x80");
	down(&p);
}
END_TEST

START_TEST(a_vm_that_is_not_there_is_no_refusal)
{
	struct hutch_file *f = NULL;
	struct hutch_fs *fs;
	struct place p;

	up(&p);
	ck_assert_int_eq(hutch_fs_open(p.v.h, "nobody", NULL, &fs, &p.v.e), 0);
	want(&p, hutch_fs_stat(fs, "/", 0, &f, &p.v.e), -ENOENT, "nobody");
	ck_assert_int_eq(hutch_fs_refused(fs), 0);
	hutch_fs_close(fs);
	ck_assert_int_eq(hutch_fs_open(p.v.h, "No", NULL, &fs, &p.v.e),
			 -EINVAL);
	down(&p);
}
END_TEST

START_TEST(an_atomic_write_keeps_what_the_file_was)
{
	struct stat st;
	struct place p;
	int fd;

	up(&p);
	put(&p, "vm/f", "old");
	ck_assert_int_eq(fchmodat(p.fd, "vm/f", 0751, 0), 0);
	ck_assert_int_eq(symlinkat("f", p.fd, "vm/l"), 0);
	fd = openat(p.fd, "vm/f", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(write_it(&p, "vm/l", HUTCH_FS_ATOMIC, "new"), 0);
	/* Who has the old one open still reads it. */
	ck_assert_int_eq(read(fd, p.buf, 4), 3);
	ck_assert_int_eq(memcmp(p.buf, "old", 3), 0);
	(void)close(fd);
	ck_assert_str_eq(text_of(&p, "vm/f"), "new");
	st = stat_of(&p, "vm/f");
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0751);
	ck_assert(S_ISLNK(stat_of(&p, "vm/l").st_mode));
	ck_assert_int_eq(write_it(&p, "vm/g", HUTCH_FS_ATOMIC, "g"), 0);
	ck_assert_uint_eq(stat_of(&p, "vm/g").st_mode, S_IFREG | 0640);
	ck_assert_int_eq(count(&p, "vm"), 3);
	want(&p, write_it(&p, "vm", HUTCH_FS_ATOMIC, ""), -EISDIR, "vm'");
	down(&p);
}
END_TEST

/* Whoever writes goes before all is there: nothing of it is seen. */
START_TEST(an_atomic_write_that_is_broken_off_leaves_nothing)
{
	struct place p;
	pid_t pid;
	int fd[2];

	up(&p);
	put(&p, "vm/f", "old");
	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	ck_assert_int_eq(write(fd[1], "half", 4), 4);
	pid = fork();
	if (pid == 0)
		_exit(hutch_fs_write(p.fs, at(&p, "vm/f"), HUTCH_FS_ATOMIC,
				     0644, fd[0], NULL) < 0);
	/* It has the bytes once the pipe is empty. */
	while (fcntl(fd[0], F_SETPIPE_SZ, 4096) < 0)
		continue;
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	(void)close(fd[0]);
	(void)close(fd[1]);
	ck_assert_str_eq(text_of(&p, "vm/f"), "old");
	/* The child in the VM goes as well; then nothing is beside it. */
	ck_assert_int_eq(write_it(&p, "vm/g", 0, ""), 0);
	ck_assert_int_eq(count(&p, "vm"), 2);
	down(&p);
}
END_TEST

START_TEST(fifos_wait_for_nobody_but_their_other_end)
{
	struct place p;
	int fd;

	up(&p);
	ck_assert_int_eq(mkfifoat(p.fd, "vm/q", 0600), 0);
	want(&p, write_it(&p, "vm/q", 0, "x"), -ENXIO, "nobody reads");
	fd = openat(p.fd, "vm/q", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(write_it(&p, "vm/q", 0, "word"), 0);
	ck_assert_int_eq(read(fd, p.buf, 8), 4);
	(void)close(fd);
	/* Whoever writes comes when somebody reads, who else waits for ever. */
	if (fork() == 0) {
		while (write_it(&p, "vm/q", 0, "through") == -ENXIO)
			continue;
		_exit(0);
	}
	ck_assert_int_eq(read_it(&p, "vm/q"), 0);
	ck_assert_str_eq(p.buf, "through");
	(void)wait(NULL);
	down(&p);
}
END_TEST

START_TEST(stat_tells_what_there_is)
{
	struct hutch_file *f = NULL;
	struct stat st;
	struct place p;

	up(&p);
	put(&p, "vm/f", "12345");
	ck_assert_int_eq(symlinkat("f", p.fd, "vm/l"), 0);
	ck_assert_int_eq(hutch_fs_stat(p.fs, at(&p, "vm/l"), 0, &f, NULL), 0);
	ck_assert_int_eq(f->kind, HUTCH_FILE_SYMLINK);
	ck_assert_str_eq(f->target, "f");
	ck_assert_str_eq(f->name, "");
	hutch_file_free(f);
	ck_assert_int_eq(
		hutch_fs_stat(p.fs, at(&p, "vm/l"), HUTCH_FS_FOLLOW, &f, NULL),
		0);
	st = stat_of(&p, "vm/f");
	ck_assert_int_eq(f->kind, HUTCH_FILE_REGULAR);
	ck_assert_uint_eq(f->bytes, 5);
	ck_assert_uint_eq(f->mode, 0644);
	ck_assert_uint_eq(f->nlink, 1);
	ck_assert_uint_eq(f->ino, st.st_ino);
	ck_assert_uint_eq(f->uid, st.st_uid);
	ck_assert_int_eq(f->mtime_ns,
			 st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec);
	hutch_file_free(f);
	ck_assert_int_eq(hutch_fs_stat(p.fs, "/dev/null", 0, &f, NULL), 0);
	ck_assert_int_eq(f->kind, HUTCH_FILE_CHAR_DEVICE);
	ck_assert_uint_eq(f->rdev_major, 1);
	ck_assert_uint_eq(f->rdev_minor, 3);
	hutch_file_free(f);
	down(&p);
}
END_TEST

static int take_name(void *arg, const struct hutch_file *f)
{
	struct place *p = arg;
	size_t len = strlen(p->buf);

	(void)snprintf(p->buf + len, sizeof(p->buf) - len, "%s:%u ", f->name,
		       f->kind);
	return strcmp(f->name, "stop") == 0 ? -ECANCELED : 0;
}

START_TEST(list_tells_of_each_file)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(
		hutch_fs_list(p.fs, at(&p, "vm"), take_name, &p, &p.v.e), 0);
	ck_assert_str_eq(p.buf, "");
	put(&p, "vm/\xff\n", "");
	ck_assert_int_eq(
		hutch_fs_list(p.fs, at(&p, "vm"), take_name, &p, &p.v.e), 0);
	ck_assert_str_eq(p.buf, "\xff\n:1 ");
	put(&p, "here/stop", "");
	want(&p, hutch_fs_list(p.fs, at(&p, "here"), take_name, &p, &p.v.e),
	     -ECANCELED, "stopped");
	want(&p,
	     hutch_fs_list(p.fs, at(&p, "here/stop"), take_name, &p, &p.v.e),
	     -ENOTDIR, "stop'");
	down(&p);
}
END_TEST

START_TEST(folders_and_names_are_changed)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(hutch_fs_mkdir(p.fs, at(&p, "vm/d"), 0, 01770, NULL),
			 0);
	ck_assert_uint_eq(stat_of(&p, "vm/d").st_mode, S_IFDIR | 01770);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(hutch_fs_mkdir(p.fs, at(&p, "vm//a/b/c"),
						HUTCH_FS_PARENTS, 0700, NULL),
				 0);
	ck_assert_uint_eq(stat_of(&p, "vm/a/b").st_mode, S_IFDIR | 0755);
	ck_assert_uint_eq(stat_of(&p, "vm/a/b/c").st_mode, S_IFDIR | 0700);
	ck_assert_int_eq(symlinkat("../../here", p.fd, "vm/a/l"), 0);
	put(&p, "here/kept", "");
	ck_assert_int_eq(
		hutch_fs_rename(p.fs, at(&p, "vm/a"), at(&p, "vm/z"), NULL), 0);
	ck_assert_int_eq(
		hutch_fs_remove(p.fs, at(&p, "vm/z"), HUTCH_FS_RECURSIVE, NULL),
		0);
	ck_assert_int_eq(
		hutch_fs_remove(p.fs, at(&p, "vm/z"), HUTCH_FS_FORCE, NULL), 0);
	ck_assert_int_eq(count(&p, "vm"), 1);
	ck_assert_int_eq(count(&p, "here"), 1);
	want(&p,
	     hutch_fs_remove(p.fs, at(&p, "vm/d/.."), HUTCH_FS_RECURSIVE,
			     &p.v.e),
	     -EINVAL, "no name");
	down(&p);
}
END_TEST

/* ---- Watching ---- */

/**
 * struct watched - What is done when an event comes, and what was told
 * @step:	Called with how many events came before
 */
struct watched {
	struct place *p;
	int (*step)(struct place *p, int n, const struct hutch_fs_event *ev);
	int n;
};

static int take_event(void *arg, const struct hutch_fs_event *ev)
{
	struct watched *w = arg;
	size_t len = strlen(w->p->buf);

	(void)snprintf(w->p->buf + len, sizeof(w->p->buf) - len, "%s %s%s\n",
		       hutch_fs_event_name(ev->kind), ev->path,
		       ev->folder ? "/" : "");
	return w->step(w->p, w->n++, ev);
}

static int watch_it(struct place *p, const char *name, unsigned int flags,
		    int (*step)(struct place *p, int n,
				const struct hutch_fs_event *ev))
{
	struct watched w = { .p = p, .step = step };

	p->buf[0] = '\0';
	return hutch_fs_watch(p->fs, at(p, name), flags, take_event, &w,
			      &p->v.e);
}

static int change_a_little(struct place *p, int n,
			   const struct hutch_fs_event *ev)
{
	(void)ev;
	if (n == 0)
		run("echo x > f && chmod 600 f && mkdir d && echo y > d/g && "
		    "mv f h && rm -r h d",
		    at(p, "vm"));
	return strstr(p->buf, "deleted d/") != NULL;
}

START_TEST(watch_tells_what_happens_in_a_folder)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(symlinkat("vm", p.fd, "l"), 0);
	ck_assert_msg(watch_it(&p, "l", 0, change_a_little) == 0, "%s",
		      p.v.e.msg);
	ck_assert_str_eq(p.buf, "ready \n"
				"created f\n"
				"modified f\n"
				"written f\n"
				"attributes f\n"
				"created d/\n"
				"moved-from f\n"
				"moved-to h\n"
				"deleted h\n"
				"deleted d/\n");
	down(&p);
}
END_TEST

static int change_below(struct place *p, int n, const struct hutch_fs_event *ev)
{
	(void)ev;
	if (n == 0)
		run("mkdir -p a/b/c && echo x > a/b/c/f", at(p, "vm"));
	/* By now it is watched, however late it was found. */
	if (strcmp(ev->path, "a/b/c/f") == 0 && !strstr(p->buf, "new/c/g"))
		run("[ -d a/b ] && mv a/b new && echo y > new/c/g || true",
		    at(p, "vm"));
	return strstr(p->buf, "written new/c/g") != NULL ||
	       strstr(p->buf, "created new/c/g") != NULL;
}

/* Made in folders that were not there when it began, and that move. */
START_TEST(watch_follows_folders_as_they_come_and_go)
{
	struct place p;

	up(&p);
	ck_assert_msg(watch_it(&p, "vm", HUTCH_FS_RECURSIVE, change_below) == 0,
		      "%s", p.v.e.msg);
	ck_assert_ptr_nonnull(strstr(p.buf, "created a/\n"));
	ck_assert_ptr_nonnull(strstr(p.buf, "created a/b/\n"));
	ck_assert_ptr_nonnull(strstr(p.buf, "created a/b/c/\n"));
	ck_assert_ptr_nonnull(strstr(p.buf, "created a/b/c/f\n"));
	ck_assert_ptr_nonnull(strstr(p.buf, "moved-from a/b/\n"));
	ck_assert_ptr_nonnull(strstr(p.buf, "moved-to new/\n"));
	ck_assert_ptr_null(strstr(p.buf, "lost"));
	down(&p);
}
END_TEST

static int remove_all(struct place *p, int n, const struct hutch_fs_event *ev)
{
	(void)ev;
	if (n == 0)
		run("rm -r vm", p->dir);
	return 0;
}

START_TEST(watch_ends_with_what_is_watched)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(watch_it(&p, "vm", HUTCH_FS_RECURSIVE, remove_all), 0);
	ck_assert_str_eq(p.buf, "ready \ngone \n");
	ck_assert_int_eq(mkdirat(p.fd, "vm", 0755), 0);
	put(&p, "vm/f", "");
	ck_assert_int_eq(watch_it(&p, "vm/f", 0, remove_all), 0);
	ck_assert_ptr_nonnull(strstr(p.buf, "gone"));
	want(&p, watch_it(&p, "vm/none", 0, remove_all), -ENOENT, "none'");
	put(&p, "here/f", "");
	want(&p, watch_it(&p, "here/f", HUTCH_FS_RECURSIVE, remove_all),
	     -ENOTDIR, "here/f'");
	down(&p);
}
END_TEST

static int too_much(struct place *p, int n, const struct hutch_fs_event *ev)
{
	/* All at once, while nobody reads: more than the kernel keeps. */
	if (n == 0)
		run("python3 -c '\nimport os\nfor i in range(200000):\n"
		    "  os.close(os.open(\"f%d\" % (i % 2), os.O_CREAT | "
		    "os.O_WRONLY))'; mkdir late",
		    at(p, "vm"));
	p->buf[0] = '\0';
	if (ev->kind == HUTCH_FS_LOST)
		run("touch late/g", at(p, "vm"));
	return strcmp(ev->path, "late/g") == 0;
}

/* A folder that came while events were lost is watched all the same. */
START_TEST(watch_says_when_events_were_lost)
{
	struct place p;

	up(&p);
	ck_assert_msg(watch_it(&p, "vm", HUTCH_FS_RECURSIVE, too_much) == 0,
		      "%s", p.v.e.msg);
	down(&p);
}
END_TEST

/* ---- Where a copy goes: the table of docs/files.md ---- */

/**
 * struct where - One line of it
 * @from:	"f" is a file, "d" a folder with "x" in it
 * @to:		"old" is a file, "dir" a folder, "link" points to it
 * @ret:	0, or what it fails with
 * @made:	What is there then, a file with the bytes of "f" or "d/x"
 */
static const struct where {
	const char *from;
	const char *to;
	int ret;
	const char *made;
} table[] = {
	{ "f", "new", 0, "new" },         { "f", "new/", -ENOENT, NULL },
	{ "f", "no/new", -ENOENT, NULL }, { "f", "old", 0, "old" },
	{ "f", "old/", -ENOTDIR, NULL },  { "f", "old/new", -ENOTDIR, NULL },
	{ "f", "dir", 0, "dir/f" },       { "f", "dir/", 0, "dir/f" },
	{ "f", "dir/.", 0, "dir/f" },     { "f", "link/", 0, "dir/f" },
	{ "f", "fullf", -EISDIR, NULL },  { "f/", "new", -ENOTDIR, NULL },
	{ "d", "new", 0, "new/x" },       { "d", "new/", 0, "new/x" },
	{ "d/", "new", 0, "new/x" },      { "d/.", "new", 0, "new/x" },
	{ "d", "no/new", -ENOENT, NULL }, { "d", "old", -ENOTDIR, NULL },
	{ "d", "dir", 0, "dir/d/x" },     { "d/", "dir/", 0, "dir/d/x" },
	{ "d", "link/", 0, "dir/d/x" },   { "d/.", "dir", 0, "dir/x" },
	{ "d/..", "dir", 0, "dir/d/x" },  { "none", "new", -ENOENT, NULL },
	{ "d/.", "link/", 0, "dir/x" },   { "d/.", "link/.", 0, "dir/x" },
	{ "f", "link", 0, "dir/f" },      { "d", "link", 0, "dir/d/x" },
	{ "d/.", "link", 0, "dir/x" },
};

static void fill(struct place *p)
{
	put(p, "here/f", "bytes");
	put(p, "vm/f", "bytes");
	for (int i = 0; i < 2; i++) {
		const char *top = i ? "vm" : "here";
		char name[32];

		(void)snprintf(name, sizeof(name), "%s/d", top);
		ck_assert_int_eq(mkdirat(p->fd, name, 0755), 0);
		(void)snprintf(name, sizeof(name), "%s/d/x", top);
		put(p, name, "bytes");
		(void)snprintf(name, sizeof(name), "%s/to", top);
		ck_assert_int_eq(mkdirat(p->fd, name, 0755), 0);
		(void)snprintf(name, sizeof(name), "%s/to/old", top);
		put(p, name, "old");
		(void)snprintf(name, sizeof(name), "%s/to/dir", top);
		ck_assert_int_eq(mkdirat(p->fd, name, 0755), 0);
		(void)snprintf(name, sizeof(name), "%s/to/link", top);
		ck_assert_int_eq(symlinkat("dir", p->fd, name), 0);
		/* A folder that has the file's name already. */
		(void)snprintf(name, sizeof(name), "%s/to/fullf", top);
		ck_assert_int_eq(mkdirat(p->fd, name, 0755), 0);
		(void)snprintf(name, sizeof(name), "%s/to/fullf/f", top);
		ck_assert_int_eq(mkdirat(p->fd, name, 0755), 0);
	}
}

static void copy_one(struct place *p, const struct where *w, bool out)
{
	/* On this host a link is followed with a slash behind it alone. */
	bool refused = out && strcmp(w->to, "link") == 0;
	int want_r = refused ? -ELOOP : w->ret, r;
	char from[64], to[64], made[64];

	run("rm -rf vm here && mkdir vm here", p->dir);
	fill(p);
	(void)snprintf(from, sizeof(from), "%s/%s", out ? "vm" : "here",
		       w->from);
	(void)snprintf(to, sizeof(to), "%s/to/%s", out ? "here" : "vm", w->to);
	r = out ? hutch_fs_get(p->fs, at(p, from), 0, at(p, to), &p->v.e)
		: hutch_fs_put(p->fs, at(p, from), 0, at(p, to), &p->v.e);
	ck_assert_msg(r == want_r, "%s to %s: %d %s", from, to, r, p->v.e.msg);
	ck_assert_str_eq(p->notes, "");
	if (want_r == 0) {
		(void)snprintf(made, sizeof(made), "%s/to/%s",
			       out ? "here" : "vm", w->made);
		ck_assert_msg(text_of(p, made) != NULL, "%s to %s", from, to);
		ck_assert_str_eq(p->buf, "bytes");
	} else {
		ck_assert_int_eq(count(p, out ? "here/to" : "vm/to"), 4);
		ck_assert_str_eq(text_of(p, out ? "here/to/old" : "vm/to/old"),
				 "old");
	}
}

START_TEST(a_copy_goes_where_the_table_says)
{
	struct place p;

	up(&p);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		for (int out = 0; out < 2; out++)
			copy_one(&p, &table[i], out);
	down(&p);
}
END_TEST

/* ---- What a copy keeps ---- */

#define LONG_NAME                                                            \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

/* One of each kind, and what only a careful copy keeps. */
static void make_tree(struct place *p, const char *top)
{
	char dir[128];

	(void)snprintf(dir, sizeof(dir), "%s/%s", p->dir, top);
	run("mkdir -p t/a/b t/empty && echo text > t/a/b/file", dir);
	run("echo linked > t/one && ln t/one t/a/two && ln t/one t/a/b/three",
	    dir);
	run("mkfifo -m 640 t/q && ln t/q t/a/q2 && ln -s /etc/passwd t/abs && "
	    "ln -s nowhere t/a/dangling && : > t/zero",
	    dir);
	run("truncate -s 10M t/holes && printf x | dd of=t/holes bs=1 "
	    "seek=5000000 conv=notrunc status=none && truncate -s 3M t/hollow",
	    dir);
	run("touch t/" LONG_NAME " 't/a\tb' $(printf 't/\\377')", dir);
	run("chmod 6755 t/a/b/file && chmod 1777 t/empty && chmod 400 t/zero "
	    "&& chmod 550 t/a",
	    dir);
	run("touch -d '1969-12-31 23:59:58.123456789 UTC' t/zero t/a/b && "
	    "touch -h -d '2001-02-03 UTC' t/abs && touch -d '2002-03-04 UTC' t",
	    dir);
}

/* All that find can tell of two trees is the same, and so are the bytes. */
static void same_trees(struct place *p, const char *a, const char *b,
		       const char *mask)
{
	char line[1600];
	const char *dir[] = { a, b };

	for (int i = 0; i < 2; i++) {
		(void)snprintf(line, sizeof(line),
			       "(cd %s && find . -printf '%%p|%%y|%%m|%%n|%%l|"
			       "%%T@\\n' | sed '%s' | sort; cd %s && find . "
			       "-type f -exec sha256sum {} + | sort) > list.%d",
			       dir[i], mask, dir[i], i);
		run(line, p->dir);
	}
	run("diff list.0 list.1", p->dir);
}

START_TEST(a_tree_is_the_same_after_the_way_there_and_back)
{
	/* Of setuid and setgid nothing stays without --archive. */
	static const char mask[] = "s/|6755|/|755|/";
	struct stat st;
	struct place p;
	char a[128], b[128], c[128];

	up(&p);
	(void)umask(0);
	make_tree(&p, "here");
	ck_assert_msg(hutch_fs_put(p.fs, at(&p, "here/t"), 0, at(&p, "vm"),
				   &p.v.e) == 0,
		      "%s", p.v.e.msg);
	ck_assert_msg(hutch_fs_get(p.fs, at(&p, "vm/t"), 0, at(&p, "here/u"),
				   &p.v.e) == 0,
		      "%s", p.v.e.msg);
	ck_assert_str_eq(p.notes, "");
	(void)snprintf(a, sizeof(a), "%s/here/t", p.dir);
	(void)snprintf(b, sizeof(b), "%s/vm/t", p.dir);
	(void)snprintf(c, sizeof(c), "%s/here/u", p.dir);
	same_trees(&p, a, b, mask);
	same_trees(&p, a, c, mask);
	st = stat_of(&p, "here/u/holes");
	ck_assert_int_eq(st.st_size, 10 << 20);
	ck_assert_int_lt(st.st_blocks, 1024);
	ck_assert_int_eq(stat_of(&p, "here/u/hollow").st_blocks, 0);
	ck_assert_uint_eq(stat_of(&p, "here/u/one").st_ino,
			  stat_of(&p, "here/u/a/b/three").st_ino);
	ck_assert_uint_eq(stat_of(&p, "here/u/q").st_ino,
			  stat_of(&p, "here/u/a/q2").st_ino);
	run("chmod -R u+rwx here/t vm/t here/u", p.dir);
	down(&p);
}
END_TEST

START_TEST(a_copy_over_a_copy_changes_nothing)
{
	struct place p;
	char a[128], b[128];

	up(&p);
	make_tree(&p, "here");
	for (int i = 0; i < 2; i++)
		ck_assert_msg(hutch_fs_put(p.fs, at(&p, "here/t/."), 0,
					   at(&p, "vm/t"), &p.v.e) == 0,
			      "%s", p.v.e.msg);
	(void)snprintf(a, sizeof(a), "%s/here/t", p.dir);
	(void)snprintf(b, sizeof(b), "%s/vm/t", p.dir);
	/* Folders that were there keep their own time. */
	same_trees(&p, a, b, "s/|6755|/|755|/;/|d|/s/|[^|]*$//");
	run("chmod -R u+rwx here/t vm/t", p.dir);
	down(&p);
}
END_TEST

START_TEST(an_archive_keeps_owners_and_attributes)
{
	/* CAP_NET_RAW, effective and permitted, in the second version. */
	static const unsigned char cap[20] = { 1, 0, 0, 2, 0, 0x20 };
	struct stat st;
	struct place p;
	char value[32];
	bool user_xattr;

	if (geteuid() != 0)
		return;
	up(&p);
	put(&p, "here/f", "#!");
	ck_assert_int_eq(fchownat(p.fd, "here/f", 1234, 5678, 0), 0);
	ck_assert_int_eq(fchmodat(p.fd, "here/f", 06755, 0), 0);
	ck_assert_int_eq(setxattr(at(&p, "here/f"), "security.capability", cap,
				  sizeof(cap), 0),
			 0);
	/* tmpfs has none before Linux 6.6. */
	user_xattr = setxattr(at(&p, "here/f"), "user.a", "1", 1, 0) == 0;
	ck_assert_int_eq(hutch_fs_put(p.fs, at(&p, "here/f"), HUTCH_FS_ARCHIVE,
				      at(&p, "vm/f"), &p.v.e),
			 0);
	st = stat_of(&p, "vm/f");
	ck_assert_uint_eq(st.st_uid, 1234);
	ck_assert_uint_eq(st.st_gid, 5678);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 06755);
	ck_assert_int_eq(getxattr(at(&p, "vm/f"), "security.capability", value,
				  sizeof(value)),
			 sizeof(cap));
	if (user_xattr)
		ck_assert_int_eq(getxattr(at(&p, "vm/f"), "user.a", value, 4),
				 1);
	ck_assert_int_eq(
		hutch_fs_get(p.fs, at(&p, "vm/f"), 0, at(&p, "here/g"), &p.v.e),
		0);
	st = stat_of(&p, "here/g");
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0755);
	down(&p);
}
END_TEST

START_TEST(what_cannot_be_copied_is_told)
{
	struct place p;

	up(&p);
	run("mkdir here/t && cd here/t && echo x > f && python3 -c 'import "
	    "socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
	    p.dir);
	ck_assert_int_eq(
		hutch_fs_put(p.fs, at(&p, "here/t"), 0, at(&p, "vm"), &p.v.e),
		0);
	ck_assert_ptr_nonnull(strstr(p.notes, "0 '"));
	ck_assert_ptr_nonnull(strstr(p.notes, "a socket is not copied"));
	ck_assert_int_eq(count(&p, "vm/t"), 1);
	want(&p,
	     hutch_fs_get(p.fs, at(&p, "here/t/s"), 0, at(&p, "here/n"),
			  &p.v.e),
	     -EOPNOTSUPP, "a socket");
	down(&p);
}
END_TEST

START_TEST(files_of_proc_are_copied_to_their_end)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(hutch_fs_get(p.fs, "/proc/version", 0,
				      at(&p, "here/v"), &p.v.e),
			 0);
	ck_assert_int_eq(strncmp(text_of(&p, "here/v"), "Linux", 5), 0);
	ck_assert_int_eq(read_it(&p, "../../proc/version"), 0);
	ck_assert_int_eq(strncmp(p.buf, "Linux", 5), 0);
	down(&p);
}
END_TEST

START_TEST(a_tree_that_is_too_deep_is_refused)
{
	struct place p;

	up(&p);
	run("python3 -c '\nimport os\nfor i in range(257):\n  os.mkdir(\"d\")\n"
	    "  os.chdir(\"d\")'",
	    at(&p, "here"));
	want(&p, hutch_fs_put(p.fs, at(&p, "here/d"), 0, at(&p, "vm"), &p.v.e),
	     -ELOOP, "256 folders deep");
	ck_assert_int_eq(hutch_fs_refused(p.fs), 0);
	/* One less is fine, though no path is as long. */
	ck_assert_msg(hutch_fs_put(p.fs, at(&p, "here/d/d"), 0, at(&p, "vm/e"),
				   &p.v.e) == 0,
		      "%s", p.v.e.msg);
	down(&p);
}
END_TEST

/* ---- Backups ---- */

/* Back up vm/t to here/a, with what it should look like. */
static void back_up(struct place *p, struct hutch_backup *b)
{
	char line[256];

	ck_assert_msg(hutch_fs_backup(p->fs, at(p, "vm/t"), at(p, "here/a"), -1,
				      b, &p->v.e) == 0,
		      "%s", p->v.e.msg);
	(void)snprintf(line, sizeof(line),
		       "echo '%s  here/a' | sha256sum -c --quiet", b->sha256);
	run(line, p->dir);
}

static int restore(struct place *p, const char *sha256)
{
	struct hutch_backup b;
	int fd = openat(p->fd, "here/a", O_RDONLY | O_CLOEXEC);
	int r = hutch_fs_restore(p->fs, fd, sha256, at(p, "vm/t"), &b, &p->v.e);

	(void)close(fd);
	return r;
}

START_TEST(a_folder_is_restored_as_it_was_backed_up)
{
	struct hutch_backup b;
	struct place p;
	char t[128], was[128];

	up(&p);
	make_tree(&p, "vm");
	run("mkdir -p vm/t/x/$(printf 'l%.0s' $(seq 120))/$(printf 'm%.0s' "
	    "$(seq 120)) && cp -a vm/t vm/was",
	    p.dir);
	back_up(&p, &b);
	/* Any tar reads it. */
	run("mkdir out && tar -C out --zstd -xpf here/a && "
	    "diff -r --no-dereference -x q -x q2 vm/was out && rm -r out",
	    p.dir);
	run("rm -r vm/t/a && echo new > vm/t/new", p.dir);
	ck_assert_msg(restore(&p, b.sha256) == 0, "%s", p.v.e.msg);
	(void)snprintf(t, sizeof(t), "%s/vm/t", p.dir);
	(void)snprintf(was, sizeof(was), "%s/vm/was", p.dir);
	same_trees(&p, was, t, "");
	ck_assert_int_eq(count(&p, "vm"), 2);
	ck_assert_int_lt(stat_of(&p, "vm/t/holes").st_blocks, 1024);
	/* To where there is nothing. */
	run("rm -rf vm/t", p.dir);
	ck_assert_msg(restore(&p, NULL) == 0, "%s", p.v.e.msg);
	same_trees(&p, was, t, "");
	/* Nor behind a link, which stays. */
	run("rm -rf vm/t && ln -s n vm/t", p.dir);
	ck_assert_msg(restore(&p, NULL) == 0, "%s", p.v.e.msg);
	ck_assert(S_ISLNK(stat_of(&p, "vm/t").st_mode));
	(void)snprintf(t, sizeof(t), "%s/vm/n", p.dir);
	same_trees(&p, was, t, "");
	run("chmod -R u+rwx vm", p.dir);
	down(&p);
}
END_TEST

/* Each does something to the archive; the folder must stay as it was. */
static const char *const damages[] = {
	"truncate -s -1 a",
	"truncate -s 100 a",
	": > a",
	"printf x >> a",
	"printf x | dd of=a bs=1 seek=60 conv=notrunc status=none",
	"echo text > a",
	"zstd -qdc a | head -c 1000 | zstd -q > b; mv b a",
	"(zstd -qdc a; echo more) | zstd -q > b; mv b a",
	"mkdir z && tar -C z -c --zstd -f a --format=gnu . && rmdir z",
	"mkdir z && echo x > z/f && tar -c --zstd -f a z/f && rm -r z",
	"zstd -qdc a | sed 's#\\./d/f#./../f#' | zstd -q > b; mv b a",
};

START_TEST(a_damaged_archive_changes_nothing)
{
	struct hutch_backup b;
	char wrong[HUTCH_SHA256_MAX];
	struct place p;

	up(&p);
	run("mkdir -p vm/t/d && head -c 100000 /dev/urandom > vm/t/d/f", p.dir);
	back_up(&p, &b);
	run("cp here/a good && echo kept > vm/t/kept", p.dir);
	memset(wrong, '0', sizeof(wrong));
	wrong[sizeof(wrong) - 1] = '\0';
	want(&p, restore(&p, wrong), -EBADMSG, "not the one it should");
	for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
		run("cp good here/a", p.dir);
		run(damages[i], at(&p, "here"));
		ck_assert_msg(restore(&p, NULL) == -EBADMSG, "%s: %s",
			      damages[i], p.v.e.msg);
		ck_assert_int_eq(hutch_fs_refused(p.fs), 0);
		ck_assert_str_eq(text_of(&p, "vm/t/kept"), "kept\n");
	}
	/* The children go when they see us gone; then nothing is left. */
	for (int i = 0; count(&p, "vm") != 1; i++) {
		ck_assert_int_lt(i, 1000);
		(void)usleep(10000);
	}
	run("cp good here/a", p.dir);
	ck_assert_int_eq(restore(&p, b.sha256), 0);
	ck_assert_int_eq(count(&p, "vm/t"), 1);
	down(&p);
}
END_TEST

START_TEST(what_cannot_be_restored_or_backed_up_is_refused)
{
	struct hutch_backup b;
	struct place p;

	up(&p);
	run("mkdir vm/t && echo x > vm/t/f", p.dir);
	back_up(&p, &b);
	run("rm -r vm/t && echo x > vm/t", p.dir);
	want(&p, restore(&p, NULL), -ENOTDIR, "vm/t'");
	ck_assert_int_eq(hutch_fs_refused(p.fs), 1);
	want(&p,
	     hutch_fs_backup(p.fs, at(&p, "vm/t"), at(&p, "here/b"), -1, &b,
			     &p.v.e),
	     -ENOTDIR, "only a folder");
	want(&p,
	     hutch_fs_backup(p.fs, at(&p, "vm/none"), at(&p, "here/b"), -1, &b,
			     &p.v.e),
	     -ENOENT, "none'");
	want(&p,
	     hutch_fs_backup(p.fs, at(&p, "vm"), at(&p, "none/b"), -1, &b,
			     &p.v.e),
	     -ENOENT, "none/'");
	ck_assert_int_eq(count(&p, "here"), 1);
	ck_assert_int_eq(count(&p, "vm"), 1);
	down(&p);
}
END_TEST

/* ---- A guest that lies ---- */

static const struct {
	const char *name;
	int ret;
	const char *words;
} lies[] = {
	{ "truth", 0, "" },
	{ "nothing", -EBADMSG, "half a tree" },
	{ "half", -EBADMSG, "half a tree" },
	{ "half-file", -EBADMSG, "half a tree" },
	{ "slash", -EBADMSG, "not a name" },
	{ "dotdot", -EBADMSG, "not a name" },
	{ "dot", -EBADMSG, "not a name" },
	{ "nameless", -EBADMSG, "has no name" },
	{ "through-link", -ENOTDIR, "l'" },
	{ "link-to-nothing", -EBADMSG, "which has not come" },
	{ "link-out-of-turn", -EBADMSG, "out of turn" },
	{ "root-is-link", -EBADMSG, "root" },
	{ "twice", -EBADMSG, "come twice" },
	{ "too-short", -EBADMSG, "less bytes" },
	{ "two-roots", -EBADMSG, "out of place" },
	{ "up-and-up", -EBADMSG, "out of place" },
	{ "entry-in-file", -EBADMSG, "out of place" },
	{ "stray-bytes", -EBADMSG, "out of place" },
	{ "stray-end", -EBADMSG, "out of place" },
	{ "attribute", -EBADMSG, "not to be copied" },
	{ "socket", -EBADMSG, "not sent" },
	{ "output", -EBADMSG, "out of place" },
	{ "refusal", -EBADMSG, "no errno" },
	{ "huge", -EFBIG, "f'" },
};

static void hear_lie(struct place *p, size_t i)
{
	char path[64];
	int r;

	run("rm -rf here && mkdir here", p->dir);
	(void)snprintf(path, sizeof(path), "/evil/%s", lies[i].name);
	r = hutch_fs_get(p->fs, path, HUTCH_FS_ARCHIVE, at(p, "here/to"),
			 &p->v.e);
	ck_assert_msg(r == lies[i].ret, "%s: %d %s", path, r, p->v.e.msg);
	if (r < 0)
		ck_assert_msg(strstr(p->v.e.msg, lies[i].words) != NULL,
			      "%s: %s", path, p->v.e.msg);
	ck_assert_int_eq(access("/tmp/hutch-evil", F_OK), -1);
	ck_assert_int_eq(count(p, "."), 2);
	ck_assert_int_le(count(p, "here"), 1);
	if (r == 0) {
		ck_assert_str_eq(text_of(p, "here/to/f"), "abc");
	} else {
		ck_assert_int_eq(access(at(p, "f"), F_OK), -1);
		ck_assert_int_eq(access(at(p, "here/f"), F_OK), -1);
	}
}

START_TEST(a_lie_is_refused_and_leads_nowhere)
{
	struct place p;

	up(&p);
	for (size_t i = 0; i < ARRAY_LEN(lies); i++)
		hear_lie(&p, i);
	down(&p);
}
END_TEST

static int get(struct place *p, const char *from, unsigned int flags,
	       const char *to)
{
	return hutch_fs_get(p->fs, from, flags, at(p, to), &p->v.e);
}

/* What the guest makes of DST is not where the next copy goes. */
START_TEST(a_link_that_a_copy_made_leads_no_later_one_away)
{
	static const char words[] = "link to 'home', which is a folder: to "
				    "copy into it, write a slash";
	struct place p;

	up(&p);
	ck_assert_int_eq(mkdirat(p.fd, "here/home", 0755), 0);
	ck_assert_int_eq(get(&p, "/evil/link", 0, "here/out"), 0);
	ck_assert_ptr_nonnull(strstr(p.notes, "0 '"));
	ck_assert_ptr_nonnull(strstr(p.notes, "a symbolic link to 'home'"));
	want(&p, get(&p, "/evil/truth/.", 0, "here/out"), -ELOOP, words);
	want(&p, get(&p, "/evil/truth", 0, "here/out"), -ELOOP, words);
	want(&p, get(&p, "/evil/file", 0, "here/out"), -ELOOP, words);
	want(&p, get(&p, "/evil/link", 0, "here/out"), -ELOOP, words);
	ck_assert_int_eq(count(&p, "here/home"), 0);
	ck_assert_int_eq(count(&p, "here"), 2);
	/* Whoever wants that says so. */
	ck_assert_int_eq(get(&p, "/evil/truth/.", 0, "here/out/"), 0);
	ck_assert_str_eq(text_of(&p, "here/home/f"), "abc");
	down(&p);
}
END_TEST

START_TEST(a_link_at_dst_is_replaced_and_not_written_through)
{
	struct place p;

	up(&p);
	put(&p, "vm/f", "new");
	put(&p, "here/old", "old");
	ck_assert_int_eq(symlinkat("old", p.fd, "here/l"), 0);
	ck_assert_int_eq(get(&p, at(&p, "vm/f"), 0, "here/l"), 0);
	ck_assert_uint_eq(stat_of(&p, "here/l").st_mode, S_IFREG | 0644);
	ck_assert_str_eq(text_of(&p, "here/l"), "new");
	ck_assert_str_eq(text_of(&p, "here/old"), "old");
	ck_assert_int_eq(symlinkat("none", p.fd, "here/d"), 0);
	want(&p, get(&p, "/evil/truth", 0, "here/d"), -ENOTDIR, "is no folder");
	ck_assert_int_eq(get(&p, at(&p, "vm/f"), 0, "here/d"), 0);
	ck_assert_str_eq(text_of(&p, "here/d"), "new");
	ck_assert_int_eq(count(&p, "here"), 3);
	ck_assert_int_eq(symlinkat("/dev/null", p.fd, "here/n"), 0);
	want(&p, get(&p, at(&p, "vm/f"), 0, "here/n"), -ELOOP, "is no file");
	/* In the VM as writing to it would go. */
	ck_assert_int_eq(symlinkat("g", p.fd, "vm/l"), 0);
	put(&p, "vm/g", "g");
	ck_assert_int_eq(
		hutch_fs_put(p.fs, at(&p, "here/l"), 0, at(&p, "vm/l"), &p.v.e),
		0);
	ck_assert_str_eq(text_of(&p, "vm/g"), "new");
	down(&p);
}
END_TEST

/* Each leads to what is not there, which "vm/new" is then. */
static const char *const dangling[][2] = {
	{ "new", NULL }, { "/vm/new", NULL }, { "../vm/./new", NULL },
	{ "m", "new" },  { "d/m", "../new" },
};

static void point(struct place *p, size_t i)
{
	char to[128];

	run("rm -rf vm && mkdir -p vm/d", p->dir);
	(void)snprintf(to, sizeof(to), "%s%s",
		       *dangling[i][0] == '/' ? p->dir : "", dangling[i][0]);
	ck_assert_int_eq(symlinkat(to, p->fd, "vm/l"), 0);
	if (dangling[i][1])
		ck_assert_int_eq(symlink(dangling[i][1],
					 at(p, *to == 'd' ? "vm/d/m" : "vm/m")),
				 0);
}

static void followed(struct place *p, size_t i, int r)
{
	ck_assert_msg(r == 0, "%s: %s", dangling[i][0], p->v.e.msg);
	ck_assert(S_ISLNK(stat_of(p, "vm/l").st_mode));
	ck_assert_str_eq(text_of(p, "vm/new"), "text");
}

START_TEST(a_link_in_the_vm_is_followed_to_what_is_not_there)
{
	static const char *const nowhere[] = { "no/new", "new/" };
	struct place p;

	up(&p);
	put(&p, "here/f", "text");
	ck_assert_int_eq(mkdirat(p.fd, "here/d", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(dangling); i++) {
		point(&p, i);
		followed(&p, i,
			 hutch_fs_put(p.fs, at(&p, "here/f"), 0, at(&p, "vm/l"),
				      &p.v.e));
		point(&p, i);
		followed(&p, i, write_it(&p, "vm/l", HUTCH_FS_ATOMIC, "text"));
		point(&p, i);
		followed(&p, i, write_it(&p, "vm/l", 0, "text"));
		point(&p, i);
		ck_assert_int_eq(hutch_fs_put(p.fs, at(&p, "here/d"), 0,
					      at(&p, "vm/l"), &p.v.e),
				 0);
		ck_assert(S_ISDIR(stat_of(&p, "vm/new").st_mode));
	}
	for (size_t i = 0; i < ARRAY_LEN(nowhere); i++) {
		run("rm -rf vm && mkdir vm", p.dir);
		ck_assert_int_eq(symlinkat(nowhere[i], p.fd, "vm/l"), 0);
		want(&p,
		     hutch_fs_put(p.fs, at(&p, "here/f"), 0, at(&p, "vm/l"),
				  &p.v.e),
		     -ENOENT, "'");
		want(&p, write_it(&p, "vm/l", HUTCH_FS_ATOMIC, ""), -ENOENT,
		     "'");
		ck_assert_int_eq(count(&p, "vm"), 1);
	}
	down(&p);
}
END_TEST

START_TEST(a_root_is_of_the_kind_that_was_asked_for)
{
	static const char folder[] = "where a folder was asked for";
	struct place p;

	up(&p);
	want(&p, get(&p, "/evil/link/.", 0, "here/to"), -EBADMSG, folder);
	want(&p, get(&p, "/evil/link/", 0, "here/to"), -EBADMSG, folder);
	want(&p, get(&p, "/evil/file/.", 0, "here/to"), -EBADMSG, folder);
	want(&p, get(&p, "/evil/file/", 0, "here/to"), -EBADMSG, folder);
	want(&p, get(&p, "/evil/link", HUTCH_FS_FOLLOW, "here/to"), -EBADMSG,
	     "what it points to was asked for");
	ck_assert_int_eq(count(&p, "here"), 0);
	ck_assert_int_eq(get(&p, "/evil/file", HUTCH_FS_FOLLOW, "here/to"), 0);
	ck_assert_int_eq(get(&p, "/evil/truth/.", 0, "here/d"), 0);
	ck_assert_str_eq(text_of(&p, "here/d/f"), "abc");
	down(&p);
}
END_TEST

/* Of a setuid bit of the guest's nothing stays, unless root wants it. */
START_TEST(a_guest_makes_no_setuid_file_here)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(
		hutch_fs_get(p.fs, "/evil/truth", 0, at(&p, "here/to"), &p.v.e),
		0);
	ck_assert_uint_eq(stat_of(&p, "here/to/f").st_mode, S_IFREG | 0644);
	down(&p);
}
END_TEST

START_TEST(a_guest_opens_nothing_to_others_that_the_umask_closes)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(mkfifoat(p.fd, "vm/q", 0600), 0);
	ck_assert_int_eq(fchmodat(p.fd, "vm/q", 0666, 0), 0);
	put(&p, "here/f", "");
	ck_assert_int_eq(fchmodat(p.fd, "here/f", 0666, 0), 0);
	(void)umask(027);
	ck_assert_int_eq(get(&p, "/evil/truth", 0, "here/t"), 0);
	ck_assert_uint_eq(stat_of(&p, "here/t").st_mode, S_IFDIR | 0750);
	ck_assert_uint_eq(stat_of(&p, "here/t/f").st_mode, S_IFREG | 0640);
	ck_assert_int_eq(get(&p, at(&p, "vm/q"), 0, "here/q"), 0);
	ck_assert_uint_eq(stat_of(&p, "here/q").st_mode, S_IFIFO | 0640);
	ck_assert_int_eq(get(&p, at(&p, "vm/q"), HUTCH_FS_ARCHIVE, "here/all"),
			 0);
	ck_assert_uint_eq(stat_of(&p, "here/all").st_mode, S_IFIFO | 0666);
	/* Nor is it asked for, but left as it was. */
	ck_assert_uint_eq(umask(0), 027);
	(void)umask(027);
	ck_assert_int_eq(
		hutch_fs_put(p.fs, at(&p, "here/f"), 0, at(&p, "vm/f"), &p.v.e),
		0);
	ck_assert_uint_eq(stat_of(&p, "vm/f").st_mode, S_IFREG | 0666);
	down(&p);
}
END_TEST

START_TEST(notes_without_end_are_counted_and_hold_nothing_up)
{
	struct place p;

	up(&p);
	ck_assert_int_eq(get(&p, "/evil/notes", 0, "here/t"), 1);
	ck_assert_int_eq(strncmp(p.notes, "-13 \\x1bsad\n", 12), 0);
	ck_assert_int_eq(p.n_notes, HUTCH_FS_NOTES_MAX + 1);
	ck_assert_str_eq(p.last, "0 VM 'web': 500 more were not shown");
	/* The next call begins anew. */
	ck_assert_int_eq(get(&p, "/evil/truth", 0, "here/u"), 0);
	ck_assert_int_eq(get(&p, "", 0, "here/u"), -EINVAL);
	ck_assert_int_eq(p.n_notes, HUTCH_FS_NOTES_MAX + 1);
	/* Nor does it keep us from sending. */
	p.n_notes = 0;
	run("seq 500 | split -l 1 - here/u/", p.dir);
	ck_assert_int_eq(hutch_fs_put(p.fs, at(&p, "here/u"), 0,
				      "/evil/chatter", &p.v.e),
			 1);
	ck_assert_int_eq(p.n_notes, HUTCH_FS_NOTES_MAX + 1);
	down(&p);
}
END_TEST

/* User 7 may write. In the form that setxattr() takes: entries of 8 bytes. */
static const unsigned char acl[] = { 2,   0,   0,   0, 1,   0,   6,   0,   255,
				     255, 255, 255, 2, 0,   6,   0,   7,   0,
				     0,   0,   4,   0, 4,   0,   255, 255, 255,
				     255, 16,  0,   6, 0,   255, 255, 255, 255,
				     32,  0,   0,   0, 255, 255, 255, 255 };

static int no_note(void *ctx, int code, const char *sentence, struct err *e)
{
	(void)ctx;
	(void)code;
	return err_set(e, -ECANCELED, "%s", sentence);
}

static void give(struct tree_in *t, const struct wr *wr)
{
	const struct wire_frame f = { .type = wr->buf[4],
				      .data = wr->buf + WIRE_HDR_LEN,
				      .len = (uint32_t)(wr->len -
							WIRE_HDR_LEN) };
	struct err e = { 0 };

	ck_assert_msg(tree_in_frame(t, &f, &e) == 0, "%s", e.msg);
}

/* Receive an empty folder with an ACL, as who may @flags. */
static bool takes_acl(struct place *p, const char *name, unsigned int flags)
{
	const struct tree_place place = { .path = at(p, name),
					  .base = "",
					  .flags = TREE_ARCHIVE | flags };
	struct tree_in *t = tree_in_new(&place, no_note, NULL);
	uint8_t buf[512];
	struct wr wr = wr_init(buf, sizeof(buf));

	ck_assert_ptr_nonnull(t);
	wire_entry_put(&wr, &(struct msg_entry){ .kind = WIRE_KIND_DIR,
						 .mode = 0700,
						 .name = "",
						 .target = "" });
	give(t, &wr);
	wr = wr_init(buf, sizeof(buf));
	wire_xattr_put(&wr,
		       &(struct msg_xattr){ .name = "system.posix_acl_access",
					    .data = acl,
					    .len = sizeof(acl) });
	give(t, &wr);
	wr = wr_init(buf, sizeof(buf));
	wire_empty_put(&wr, WIRE_FILE_UP);
	give(t, &wr);
	ck_assert(tree_in_whole(t));
	tree_in_free(t);
	return getxattr(at(p, name), "system.posix_acl_access", NULL, 0) > 0;
}

START_TEST(a_guest_gives_nobody_rights_by_an_acl)
{
	struct place p;

	up(&p);
	ck_assert(!takes_acl(&p, "here/a", 0));
	/* What root asks for, and what goes into a VM; not on each tmpfs. */
	if (setxattr(at(&p, "vm"), "system.posix_acl_access", acl, sizeof(acl),
		     0) == 0)
		ck_assert(takes_acl(&p, "here/b", TREE_SETUID));
	down(&p);
}
END_TEST

CHECK_MAIN("files", a_file_is_written_and_read,
	   what_linux_refuses_is_told_by_its_errno,
	   a_vm_that_is_not_there_is_no_refusal,
	   an_atomic_write_keeps_what_the_file_was,
	   an_atomic_write_that_is_broken_off_leaves_nothing,
	   fifos_wait_for_nobody_but_their_other_end, stat_tells_what_there_is,
	   list_tells_of_each_file, folders_and_names_are_changed,
	   watch_tells_what_happens_in_a_folder,
	   watch_follows_folders_as_they_come_and_go,
	   watch_ends_with_what_is_watched, watch_says_when_events_were_lost,
	   a_copy_goes_where_the_table_says,
	   a_tree_is_the_same_after_the_way_there_and_back,
	   a_copy_over_a_copy_changes_nothing,
	   an_archive_keeps_owners_and_attributes,
	   what_cannot_be_copied_is_told, files_of_proc_are_copied_to_their_end,
	   a_tree_that_is_too_deep_is_refused,
	   a_folder_is_restored_as_it_was_backed_up,
	   a_damaged_archive_changes_nothing,
	   what_cannot_be_restored_or_backed_up_is_refused,
	   a_lie_is_refused_and_leads_nowhere,
	   a_link_that_a_copy_made_leads_no_later_one_away,
	   a_link_at_dst_is_replaced_and_not_written_through,
	   a_link_in_the_vm_is_followed_to_what_is_not_there,
	   a_root_is_of_the_kind_that_was_asked_for,
	   a_guest_makes_no_setuid_file_here,
	   a_guest_opens_nothing_to_others_that_the_umask_closes,
	   a_guest_gives_nobody_rights_by_an_acl,
	   notes_without_end_are_counted_and_hold_nothing_up)

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_doctor.c - hutch doctor: what this machine lacks for hutch */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "host/cli/doctor.h"
#include "host/cli/show.h"
#include "host/cli/text.h"

/* Fewer open files than this and a busy VM runs into the limit. */
#define NOFILE_GOOD  1024u
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 10
/* Default memory of a VM, and some for the rest. */
#define MEMORY_GOOD (1ull << 30)

static const struct opt doctor_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static const char *const state_names[] = { "ok", "weak", "lacks" };

static void say_json(struct doctor *d, enum doctor_state state,
		     const char *name, const char *detail, const char *fix)
{
	jsonw_object(&d->j, NULL);
	jsonw_str(&d->j, "name", name);
	jsonw_str(&d->j, "state", state_names[state]);
	jsonw_str(&d->j, "detail", detail);
	jsonw_str(&d->j, "fix", fix);
	jsonw_object_end(&d->j);
}

void doctor_say(struct doctor *d, enum doctor_state state, const char *name,
		const char *fix, const char *fmt, ...)
{
	char raw[DOCTOR_TEXT_MAX], detail[DOCTOR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	d->lacks += state == DOCTOR_LACKS;
	if (d->c->json) {
		say_json(d, state, name, raw, fix);
		return;
	}
	(void)text_show(detail, sizeof(detail), raw, SIZE_MAX);
	(void)printf("%-6s %-16s %s\n", state_names[state], name, detail);
	if (fix)
		(void)printf("%-6s %-16s -> %s\n", "", "", fix);
}

static void check_machine(struct doctor *d)
{
	struct utsname u = { 0 };
	int major = 0, minor = 0;

	(void)uname(&u);
	/* NOLINTNEXTLINE(cert-err34-c): what is no number stays 0: too old */
	(void)sscanf(u.release, "%d.%d", &major, &minor);
	if (strcmp(u.machine, "x86_64") != 0)
		doctor_say(d, DOCTOR_LACKS, "machine", "use an x86-64 machine",
			   "%s is not supported yet", u.machine);
	else
		doctor_say(d, DOCTOR_OK, "machine", NULL, "%s", u.machine);
	if (major > KERNEL_MAJOR ||
	    (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		doctor_say(d, DOCTOR_OK, "host kernel", NULL, "%s", u.release);
	else
		doctor_say(d, DOCTOR_LACKS, "host kernel",
			   "use Linux 5.10 or later", "%s is too old",
			   u.release);
}

static void check_path(struct doctor *d, enum hutch_path what, const char *name,
		       const char *fix)
{
	AUTO_FREE char *path = NULL;
	struct hutch_err e = { 0 };
	int r = hutch_path(d->c->h, what, &path, &e);

	if (r < 0)
		doctor_say(d, DOCTOR_LACKS, name, fix, "%s", e.msg);
	else
		doctor_say(d, DOCTOR_OK, name, NULL, "%s", path);
}

static void check_folder(struct doctor *d, enum hutch_path what,
			 const char *name)
{
	AUTO_FREE char *path = NULL;
	struct hutch_err e = { 0 };

	if (hutch_path(d->c->h, what, &path, &e) < 0)
		doctor_say(d, DOCTOR_LACKS, name,
			   "set HUTCH_STATE to a "
			   "folder of yours",
			   "%s", e.msg);
	else if (access(path, R_OK | W_OK | X_OK) < 0)
		doctor_say(d, DOCTOR_LACKS, name,
			   "set HUTCH_STATE to a "
			   "folder of yours",
			   "cannot write to '%s': %s", path, strerror(errno));
	else
		doctor_say(d, DOCTOR_OK, name, NULL, "%s", path);
}

static void check_files(struct doctor *d)
{
	static const char build[] = "build and install hutch whole: meson "
				    "setup build && ninja -C build install";
	static const struct {
		enum hutch_path what;
		const char *name;
	} programs[] = {
		{ HUTCH_PATH_KEEPER, "keeper" },
		{ HUTCH_PATH_VMM, "monitor" },
		{ HUTCH_PATH_AGENT, "agent" },
		{ HUTCH_PATH_ROOT, "built-in root" },
	};
	struct hutch_err e = { 0 };

	if (!d->c->h && hutch_open(NULL, &d->c->h, &e) < 0) {
		doctor_say(d, DOCTOR_LACKS, "folders",
			   "see HUTCH_STATE and HUTCH_LIBEXEC in hutch(1)",
			   "%s", e.msg);
		return;
	}
	check_folder(d, HUTCH_PATH_RUN, "run folder");
	check_folder(d, HUTCH_PATH_STATE, "state folder");
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		check_path(d, programs[i].what, programs[i].name, build);
	check_path(d, HUTCH_PATH_KERNEL, "guest kernel",
		   "build it with scripts/build-kernel and set HUTCH_KERNEL "
		   "to what it prints");
}

static void check_seccomp(struct doctor *d)
{
	unsigned int action = SECCOMP_RET_KILL_PROCESS;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		doctor_say(d, DOCTOR_LACKS, "seccomp",
			   "use a kernel with CONFIG_SECCOMP_FILTER",
			   "cannot be used: %s", strerror(errno));
	else
		doctor_say(d, DOCTOR_OK, "seccomp", NULL, "can be used");
}

static void check_limits(struct doctor *d)
{
	struct rlimit nofile = { 0 }, as = { 0 };
	char size[SHOW_MAX];
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			  (uint64_t)sysconf(_SC_PAGESIZE);

	(void)getrlimit(RLIMIT_NOFILE, &nofile);
	if (nofile.rlim_cur < NOFILE_GOOD)
		doctor_say(d, DOCTOR_WEAK, "open files", "ulimit -n 1024",
			   "at most %llu a process",
			   (unsigned long long)nofile.rlim_cur);
	else
		doctor_say(d, DOCTOR_OK, "open files", NULL,
			   "at most %llu a process",
			   (unsigned long long)nofile.rlim_cur);
	(void)getrlimit(RLIMIT_AS, &as);
	if (as.rlim_cur != RLIM_INFINITY && as.rlim_cur < MEMORY_GOOD)
		doctor_say(d, DOCTOR_LACKS, "address space",
			   "ulimit -v unlimited", "limited to %llu bytes",
			   (unsigned long long)as.rlim_cur);
	show_size(size, memory);
	if (memory < MEMORY_GOOD)
		doctor_say(d, DOCTOR_WEAK, "memory",
			   "give VMs less: --memory 128M", "%s in all", size);
	else
		doctor_say(d, DOCTOR_OK, "memory", NULL, "%s in all", size);
}

static int cmd_doctor(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	struct doctor d = { .c = c, .j = cli_json() };

	(void)opts;
	(void)w;
	if (c->json) {
		jsonw_object(&d.j, NULL);
		jsonw_array(&d.j, "checks");
	}
	check_machine(&d);
	doctor_kvm(&d);
	check_seccomp(&d);
	check_limits(&d);
	check_files(&d);
	if (c->json) {
		jsonw_array_end(&d.j);
		jsonw_bool(&d.j, "ok", d.lacks == 0);
		jsonw_object_end(&d.j);
	} else if (d.lacks == 0) {
		(void)puts("\nhutch can run VMs here.");
	} else {
		(void)printf("\nhutch cannot run VMs here: see the %u marked "
			     "\"lacks\".\n",
			     d.lacks);
	}
	return d.lacks ? CLI_EXIT_FAILED : 0;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.args = "[OPTIONS]",
	.summary = "say what this machine lacks, and how to get it",
	.help = "Looks at all that hutch needs, line by line. The exit code is "
		"0 if nothing\nneeded is missing.\n",
	.rules = { .table = doctor_opts },
	.opts_size = sizeof(struct cli_common),
	.run = cmd_doctor,
};

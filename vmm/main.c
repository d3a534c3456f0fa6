/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/main.c - hutch-vmm: one virtual machine on KVM */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "common/log.h"
#include "vmm/config.h"
#include "vmm/vm.h"

#define STATUS_HOST  1
#define STATUS_INPUT 2

/* What a person can put right by calling us differently. */
static int status_of(int code)
{
	switch (code) {
	case -EINVAL:
	case -ERANGE:
	case -ENOENT:
	case -ENOTDIR:
	case -EISDIR:
	case -EACCES:
	case -EPERM:
	case -ENOEXEC:
	case -E2BIG:
	case -EADDRINUSE:
	case -ENAMETOOLONG:
		return STATUS_INPUT;
	default:
		return STATUS_HOST;
	}
}

static int fail(const struct log *log, const struct err *e, int code)
{
	log_err(log, "%s", e->msg);
	return status_of(code);
}

static int boot(struct config *cfg, const struct log *log,
		struct stat_stages *stages)
{
	struct vm *vm = NULL;
	struct err e = { 0 };
	struct run_end end;
	int r = vm_new(&vm, cfg, log, stages, &e);

	if (r < 0)
		return fail(log, &e, r);
	r = vm_run(vm, &end, &e);
	if (r < 0) {
		log_err(log, "%s", e.msg);
		vm_free(vm);
		return STATUS_HOST;
	}
	if (end.text[0])
		log_info(log, "%s: %s", run_reason_word(end.reason), end.text);
	/* The kernel takes the rest apart faster than we can. */
	return run_reason_status(end.reason);
}

int main(int argc, char **argv)
{
	const struct log log = { .fd = STDERR_FILENO,
				 .level = LOG_LEVEL_INFO,
				 .prefix = "hutch-vmm: " };
	struct stat_stages stages = { 0 };
	struct err e = { 0 };
	struct config cfg;
	int r;

	stat_stage_mark(&stages, STAT_STAGE_START);
	/* A reader who went away is an errno of write(), never our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* So is a file that the user's limits do not let grow. */
	(void)signal(SIGXFSZ, SIG_IGN);
	r = config_parse(&cfg, argc, argv, &e);
	if (r < 0) {
		log_err(&log, "%s", e.msg);
		return STATUS_INPUT;
	}
	if (cfg.help)
		return config_help(stdout) < 0 ? STATUS_HOST : 0;
	if (cfg.version)
		return printf("hutch-vmm " HUTCH_VERSION "\n") < 0 ? STATUS_HOST
								   : 0;
	r = config_open(&cfg, &e);
	r = r < 0 ? fail(&log, &e, r) : boot(&cfg, &log, &stages);
	config_close(&cfg);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/doctor.h - findings about this machine, printed as they come */
#ifndef HUTCH_CLI_DOCTOR_H
#define HUTCH_CLI_DOCTOR_H

#include "host/cli/cli.h"

#define DOCTOR_TEXT_MAX 512

/** enum doctor_state - What a finding means */
enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WEAK,  /* works, but not as well as it could */
	DOCTOR_LACKS, /* no VM can run like this */
};

/**
 * struct doctor - One examination
 * @c:		For --json
 * @j:		The document, if it is JSON
 * @lacks:	How often DOCTOR_LACKS was said
 */
struct doctor {
	struct cli *c;
	struct jsonw j;
	unsigned int lacks;
};

/**
 * doctor_say() - Print one finding
 * @name:	Of what was looked at, a word or two
 * @fix:	How to get it; NULL if nothing is to be done
 * @fmt:	What was found
 */
void doctor_say(struct doctor *d, enum doctor_state state, const char *name,
		const char *fix, const char *fmt, ...) PRINTF(5, 6);

/** doctor_kvm() - The device, its version, and what it can do */
void doctor_kvm(struct doctor *d);

#endif

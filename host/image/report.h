/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/report.h - what hutch-image tells libhutch (host/lib/imagework.h) */
#ifndef HUTCH_HOST_IMAGE_REPORT_H
#define HUTCH_HOST_IMAGE_REPORT_H

#include <stdint.h>

#include "common/err.h"

/** struct report - A pipe to libhutch; @fd -1 swallows all */
struct report {
	int fd;
};

/** report_step() - So much of @what is done. @step is enum hutch_image_step */
void report_step(const struct report *rp, int step, const char *what,
		 uint64_t done, uint64_t total);

/** report_note() - A sentence that a user may want to know */
void report_note(const struct report *rp, const char *fmt, ...) PRINTF(2, 3);

/** report_end() - The last word: @r and its sentence, or the id of the image */
void report_end(const struct report *rp, int r, const struct err *e,
		const char *id);

#endif

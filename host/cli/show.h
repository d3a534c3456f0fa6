/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/show.h - records and their numbers as people read them */
#ifndef HUTCH_CLI_SHOW_H
#define HUTCH_CLI_SHOW_H

#include "host/cli/base.h"
#include "host/lib/hutch.h"

#define SHOW_MAX        32  /* bytes that each of these may write */
#define SHOW_REASON_MAX 512 /* but this one */

/** show_size() - "512M", "1.5G": powers of 1024, as options take them */
void show_size(char buf[SHOW_MAX], uint64_t bytes);

/** show_span() - "3s", "5m 10s", "2h 5m", "4d 1h" */
void show_span(char buf[SHOW_MAX], int64_t ns);

/** show_ago() - "5m 10s ago"; "" for 0, "just now" for the future */
void show_ago(char buf[SHOW_MAX], int64_t time_ns);

/** show_uptime() - How long a VM has run, or ran */
void show_uptime(char buf[SHOW_MAX], const struct hutch_record *rec);

/** show_reason() - Why a VM has ended; "" while it lives */
void show_reason(char buf[SHOW_REASON_MAX], const struct hutch_record *rec);

/** show_records() - A JSON array of records on stdout. Return: 0, -ENOMEM */
MUST_CHECK int show_records(struct hutch_record *const *list);

/** show_record() - One record as JSON on stdout. Return: 0, -ENOMEM */
MUST_CHECK int show_record(const struct hutch_record *rec);

#endif

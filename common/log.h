/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/log.h - log lines of a program, to one descriptor, one write each
 *
 * Only main(), control and server code logs; libraries and devices return
 * errors.  Levels: err, someone must act; warn, we go on and the line says
 * how; info, the life of a VM in about ten lines; debug, the rest.
 */
#ifndef HUTCH_COMMON_LOG_H
#define HUTCH_COMMON_LOG_H

#include <stddef.h>

#include "common/base.h"

#define LOG_LINE_MAX 1024

enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/**
 * struct log - Where lines go; a program has one and hands it down
 * @fd:		Written to, one write(2) a line, failures ignored; -1 for none
 * @level:	Lines above it are dropped
 * @prefix:	Put in front: "hutch-vmm: "
 * @kmsg:	Add the <N> priority that /dev/kmsg reads
 */
struct log {
	int fd;
	enum log_level level;
	const char *prefix;
	int kmsg;
};

/** log_at() - Write a line, cut at LOG_LINE_MAX; no newline in @fmt */
void log_at(const struct log *log, enum log_level level, const char *fmt, ...)
	PRINTF(3, 4);

#define log_err(l, ...)   log_at((l), LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(l, ...)  log_at((l), LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(l, ...)  log_at((l), LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(l, ...) log_at((l), LOG_LEVEL_DEBUG, __VA_ARGS__)

/**
 * log_escape() - Make outside bytes printable: \n, \t, \\, \xNN
 * @dst:	At least 5 bytes; always terminated
 * @cap:	Size of @dst; what does not fit is cut and ends in "..."
 *
 * Valid UTF-8 stays, control characters (C1 too) never do.
 *
 * Return: @dst
 */
char *log_escape(char *dst, size_t cap, const char *src, size_t len);

#endif

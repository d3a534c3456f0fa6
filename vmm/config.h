/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/config.h - the command line of hutch-vmm, checked and opened */
#ifndef HUTCH_VMM_CONFIG_H
#define HUTCH_VMM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "vmm/net_opt.h"
#include "vmm/share_opt.h"

#define CONFIG_CPUS_MAX     32u
#define CONFIG_MEMORY_MIN   (64ull << 20)
#define CONFIG_MEMORY_ALIGN 4096ull
#define CONFIG_CONTROLS_MAX 8u

/**
 * struct config_end - Something given as PATH or as fd=N
 * @path:	NULL if it was not given, or as a descriptor
 * @fd:		-1 until given or opened; then owned
 */
struct config_end {
	const char *path;
	int fd;
};

/**
 * struct config - What the user asked for
 * @cmdline:	NULL: the architecture's default
 * @connector_fd: To whoever makes the guest's connects; -1 for none
 * @lifeline_fd: The VM ends when it reads the end of file; -1 for none
 * @console_stdout: --console -
 */
struct config {
	struct config_end kernel;
	struct config_end initrd;
	struct config_end agent;
	struct config_end boot;
	struct config_end console;
	struct config_end vsock;
	struct config_end control[CONFIG_CONTROLS_MAX];
	unsigned int n_controls;
	struct share_opt share[SHARES_MAX];
	unsigned int n_shares;
	struct net_opt net;
	bool net_given;
	const char *cmdline;
	unsigned int cpus;
	uint64_t memory;
	int connector_fd;
	int lifeline_fd;
	bool console_stdout;
	bool help;
	bool version;
};

/**
 * config_parse() - Read the command line; touches nothing but @c
 *
 * Return: 0, or -EINVAL or -ERANGE with a sentence
 */
MUST_CHECK int config_parse(struct config *c, int argc, char **argv,
			    struct err *e);

/**
 * config_open() - Open every file that was named and check every descriptor
 *
 * Descriptors above 2 that were not named are closed first.
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int config_open(struct config *c, struct err *e);

/** config_close() - Close what is still open */
void config_close(struct config *c);

/** config_help() - Print the table of options. Return: 0 or -EIO */
MUST_CHECK int config_help(FILE *f);

#endif

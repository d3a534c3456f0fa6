/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a lab: options, machine, keeper, client. */
#ifndef HUTCH_LAB_HOST_H
#define HUTCH_LAB_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The lab's own failures, as those of hutch. */
#define EXIT_LAB 125
/* Descriptors that the machine's command line counts on. */
#define MACHINE_PORT_FD 3
#define MACHINE_DISK_FD 4
/* How long a lab may take to come up, in seconds. */
#define LAB_BOOT_LIMIT_S 600

/**
 * struct strings - A part of argv
 * @v:		First string
 * @n:		How many
 */
struct strings {
	char **v;
	unsigned int n;
};

/**
 * struct host_opts - What scripts/lab asks for
 * @socket:	Of the kept lab, or NULL
 * @lock:	Lock file of the kept lab, or NULL
 * @about:	Words that tell what lab this is
 * @about_file:	Of the kept lab; holds @about, each word on its line
 * @machine:	Command that is the lab; none: only a kept one is used
 * @config:	Strings of the configuration, see world.h, without the last
 * @env:	Environment of the command
 * @command:	The command
 * @scratch:	Folder in which the scratch disk, or folder, is made
 * @disk_size:	Bytes of the disk; 0 for a folder
 * @idle_s:	A kept lab ends after so many seconds without a client
 * @parent:	Process whose death ends the command, 0 for none
 * @tty:	Give the command a terminal
 * @root:	Run it as root
 * @console:	Copy the lab's console to stderr
 */
struct host_opts {
	const char *socket;
	const char *lock;
	const char *about;
	const char *about_file;
	struct strings machine;
	struct strings config;
	struct strings env;
	struct strings command;
	const char *scratch;
	uint64_t disk_size;
	unsigned int idle_s;
	pid_t parent;
	bool tty;
	bool root;
	bool console;
};

/**
 * struct machine - A lab's process
 * @pid:	Process, 0 if none
 * @port:	Our end of the stream to the server in it
 * @console:	What it and its kernel print
 * @scratch:	Its scratch folder; it removes it. Empty where it has a disk
 */
struct machine {
	pid_t pid;
	int port;
	int console;
	char scratch[4096];
};

int host_fail(const char *what, const char *name);
int host_connect(const char *path);
int host_listen(const char *path);

int machine_start(const struct host_opts *o, struct machine *ret);
void machine_stop(struct machine *m);

int keeper_run(const struct host_opts *o, int listener, int client,
	       int ready_fd);

int client_run(const struct host_opts *o, int sock);
int client_ask(int sock, uint8_t type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/with_control.c - stands in for hutch-vmm and adds a control socket
 *
 * The keeper owns a monitor's control socket. To read the stats of a VM that
 * hutch itself has started, the bench puts this program in hutch-vmm's place
 * and the monitor beside it as hutch-vmm.real: the arguments gain --control
 * with a socket in the same folder.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX 64
#define PATH_LEN 512

int main(int argc, char **argv)
{
	char dir[PATH_LEN], real[PATH_LEN + 32], sock[PATH_LEN + 32];
	char *arg[ARGS_MAX + 3];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char option[] = "--control";
	char *slash;

	if (n <= 0 || argc > ARGS_MAX)
		return 1;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	(void)snprintf(real, sizeof(real), "%s/hutch-vmm.real", dir);
	(void)snprintf(sock, sizeof(sock), "%s/stats.sock", dir);
	memcpy(arg, argv, (size_t)argc * sizeof(*arg));
	arg[argc] = option;
	arg[argc + 1] = sock;
	arg[argc + 2] = NULL;
	(void)execv(real, arg);
	return 1;
}

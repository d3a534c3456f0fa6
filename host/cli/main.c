/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/main.c - the hutch program */
#include "host/cli/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}

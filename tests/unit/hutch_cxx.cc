// SPDX-License-Identifier: Apache-2.0
// tests/unit/hutch_cxx.cc - hutch.h is C++ too, and the shared library links
#include <cstring>

#include "host/lib/hutch.h"

int main()
{
	struct hutch_opts o = HUTCH_OPTS_INIT;
	struct hutch_start_opts s = HUTCH_START_OPTS_INIT;
	struct hutch_exec_opts x = HUTCH_EXEC_OPTS_INIT;

	if (o.size != sizeof(o) || s.size != sizeof(s) || x.size != sizeof(x))
		return 1;
	if (s.wait != HUTCH_WAIT_STARTED || x.flags || o.state_dir)
		return 1;
	return std::strcmp(hutch_version(), HUTCH_VERSION) ? 1 : 0;
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# exec.sh - inside the lab: time commands in a VM; scripts/bench calls it
#
# Usage: exec.sh BUILD ROW CPUS MEMORY     (HUTCH_KERNEL is the kernel)
set -euo pipefail
# shellcheck source=tests/bench/root.sh
. "$(dirname "$0")/root.sh"

bench_root "$1" tests/bench/exec_timer
# The first process after a boot can read three times high.
sleep 2
chroot "$root" /b/exec_timer "$2" "$3" "$4"
echo "exec agent_bytes=$(stat -c %s "$root/b/hutch-agent")"

#!/usr/bin/env bash
# Explores every state of lease.pml, and shows that the model checker finds each mistake. Needs spin and a C compiler.
set -euo pipefail
model=$(realpath "$(dirname "$0")/lease.pml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

errors() { # the number of errors that are found with these definitions
    spin "$@" -a "$model" >/dev/null && cc -w -O2 -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan -m1000000 | sed -n 's/.*errors: //p'
}

for mistake in NO_FENCE NO_KEY REFUSE_DOUBT SLOW_CLOCK STALE_STANDBY FAST_STANDBY; do
    if [ "$(errors "-D$mistake")" = 0 ]; then
        echo "The lease: $mistake is not found."
        exit 1
    fi
done
if [ "$(errors)" != 0 ]; then
    echo "The lease: an assertion fails; spin -t shows how."
    exit 1
fi
echo "The lease: no assertion fails in any state, and each of 6 mistakes is found."

#!/usr/bin/env bash
# The phases of scripts/lib.sh: what runs beside others reports its rows, its output and its failures, and ends with the
# script.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

expect() { [[ $2 == *"$1"* ]] || die "expected '$1' in: $2"; }

passing() { echo "output of $1"; }
failing() { return 3; }
remarking() { remark "two of three"; }
two_parts() {
  phase "beside, passing" passing beside
  phase "beside, failing" failing
  skip_phase "beside, left out" "a reason"
}

beside two_parts
phase "in front" passing front
end_beside >"$(mktemp -d)/out"
phase "with a remark" remarking
rows="$(summary)"
expect "in front " "$rows"
expect "beside, failing                          0 s  FAILED (exit code 3)" "$rows"
expect "left out: a reason" "$rows"
expect "passed; two of three" "$rows"
((failed_phases == 1)) || die "expected 1 failed phase, not $failed_phases"

# A part that ends without a word is a failure.
ends() { exit 0; }
beside ends
end_beside
((failed_phases == 2)) || die "expected 2 failed phases, not $failed_phases"
expect "was ended before it was done" "$(summary)"

# A script that ends takes what runs beside it along.
sleeper="$(mktemp)"
sleeping() {
  sleep 600 &
  echo $! >"$sleeper"
  wait
}
(
  beside sleeping
  until [[ -s $sleeper ]]; do sleep 0.05; done
)
for _ in {1..100}; do
  kill -0 "$(<"$sleeper")" 2>/dev/null || exit 0
  sleep 0.1
done
die "a process that ran beside outlived the script"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/accept-gpu with programs that answer as told: what passes, fails and is skipped stands in both
# reports with its figure, its limit and its reason. Then with the programs of BUILD, on the processor, so that
# what it reads of their answers is there. Usage: accept_gpu_test.sh SOURCE [BUILD]
set -euo pipefail
source=$1 real=${2:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "failed: $*" >&2; cat "$folder/out" >&2; exit 1; }
mkdir -p "$folder/build/bin" "$folder/build/tests"

# A test program: one test passes, one is skipped, one has the outcome that FAKE_TEST says.
cat > "$folder/build/tests/test_gpu" <<'FAKE'
#!/usr/bin/env bash
for argument in "$@"; do case $argument in --gtest_output=json:*) report=${argument#--gtest_output=json:} ;; esac; done
printf '[ RUN      ] Gpu.Skips\ngpu_test.cpp:20: Skipped\nneeds two GPUs\n[  SKIPPED ] Gpu.Skips (0 ms)\n'
failures=
[ "${FAKE_TEST:-pass}" = pass ] || failures=', "failures": [{"failure": "gpu_test.cpp:7\nout is off"}]'
cat > "$report" <<JSON
{"testsuites": [{"name": "Gpu", "testsuite": [
  {"name": "Passes", "result": "COMPLETED"}, {"name": "Skips", "result": "SKIPPED"},
  {"name": "Asked", "result": "COMPLETED"$failures}]}]}
JSON
FAKE
cp "$folder/build/tests/test_gpu" "$folder/build/tests/test_engine"
cat > "$folder/build/bin/ringscope" <<'FAKE'
#!/usr/bin/env bash
case $1 in
  attend) echo "{\"errors\": {\"out\": {\"ratio\": ${FAKE_RATIO:-0.25}}}}" ;;
  train) echo '{"steps": [{"loss": 5.5}, {"loss": 5.25}], "worst_ratio": 0.5}' ;;
  bench) echo '{"rows": [{"strategy": "ring", "forward_seconds": 0.5, "backward_seconds": 1.5,
    "forward_of_unsharded": 0.75, "backward_of_unsharded": 0.5}, {"strategy": "spiral", "refused": "8 heads"}]}' ;;
esac
FAKE
chmod +x "$folder"/build/*/*
accept() { # [BUILD [MORE]]
  "$source/scripts/accept-gpu" --device cpu --out "$folder/runs" --build "${@:-$folder/build}" > "$folder/out" 2>&1
}
row() { grep -qF "$1" "$folder/runs/report.md" || fail "the report has no row '$1': $(cat "$folder/runs/report.md")"; }

accept || fail "all passes, and it exits with $?"
row '| Gpu.Passes |  |  | pass |'
row '| Gpu.Skips |  |  | skipped: needs two GPUs |'
row "| out, error as a share of its limit | 0.25 | 1 | pass |"
row "| worst error as a share of its limit | 0.5 | 1 | pass |"
row "| loss of step 1 off the processor's | 0 | 0.0001 | pass |"
row '| ring forward, seconds | 0.5 |  | figure |'
row '| spiral |  |  | skipped: 8 heads |'
python3 - "$folder/runs/report.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["about"]["device"] == "cpu" and " 0 fail" in report["about"]["outcome"], report["about"]
assert all({"group", "name", "value", "limit", "verdict", "reason"} == set(row) for row in report["rows"])
PYTHON

code=0; FAKE_RATIO=1.75 accept || code=$?
[ "$code" = 1 ] || fail "a figure beyond its limit exits with $code"
row "| out, error as a share of its limit | 1.75 | 1 | fail |"
code=0; FAKE_TEST=fail accept || code=$?
[ "$code" = 1 ] || fail "a test that fails exits with $code"
row '| Gpu.Asked |  |  | fail: gpu_test.cpp:7 |'
rm "$folder/build/tests/test_gpu"
code=0; accept || code=$?
[ "$code" = 1 ] || fail "a program that is missing exits with $code"

code=0; "$source/scripts/accept-gpu" --device cpu > "$folder/out" 2>&1 || code=$?
[ "$code" = 2 ] && [ "$(wc -l < "$folder/out")" = 1 ] || fail "no build folder exits with $code"
if ! nvidia-smi -L 2>/dev/null | grep -q 'GPU 0'; then
  code=0; "$source/scripts/accept-gpu" > "$folder/out" 2>&1 || code=$?
  [ "$code" = 2 ] && [ "$(wc -l < "$folder/out")" = 1 ] || fail "without a GPU it exits with $code"
  grep -q 'there is no NVIDIA GPU here' "$folder/out" || fail "it does not say that there is no GPU"
fi

if [ -n "$real" ]; then
  accept "$real" --length 512 || fail "with the programs of $real it exits with $?"
  for strategy in ring all_gather ulysses hybrid; do
    row "## attend documents, $strategy"
    row "| $strategy backward, seconds |"
  done
  row '| worst error as a share of its limit |'
fi
echo "scripts/accept-gpu reports and judges"

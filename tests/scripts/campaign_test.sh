#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/campaign: its list, its refusals, a whole campaign, and one that is interrupted and goes on.
# Usage: campaign_test.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "failed: $*" >&2; exit 1; }
campaign() { "$source/scripts/campaign" "$@" --build "$build" --runs "$folder"; }
cases() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["cases"])' "$folder/$1.json"; }

"$source/scripts/campaign" --list > "$folder/list"
grep -q '^gate_pauses  *pauses at any moment' "$folder/list" || fail "the list has no line for gate_pauses"

code=0; campaign no_such 2> "$folder/err" || code=$?
[ "$code" = 2 ] || fail "an unknown name exits with $code"
grep -q "there is no campaign 'no_such'; use .*gate_pauses" "$folder/err" || fail "$(cat "$folder/err")"
code=0; campaign gate_pauses --cases 0 2> "$folder/err" || code=$?
[ "$code" = 2 ] || fail "no cases exit with $code"
code=0; campaign gate_pauses --only naive_sum_merge 2> "$folder/err" || code=$?
[ "$code" = 2 ] || fail "mistakes of a campaign that has none exit with $code"
grep -q "which gate_pauses does not go through" "$folder/err" || fail "$(cat "$folder/err")"

campaign gate_pauses --cases 3 > "$folder/out"
[ "$(cases gate_pauses)" = 3 ] || fail "3 cases were asked for, $(cases gate_pauses) are noted"
tail -1 "$folder/out" | grep -q '^gate_pauses: all 3 cases passed' || fail "$(cat "$folder/out")"
tail -2 "$folder/out" | head -1 | python3 -c 'import json, sys; assert json.load(sys.stdin)["failures"] == []'

# Interrupted after its first slice, and gone on with until the end.
# Not by the function: the signal is for the script itself, not for a shell around it.
"$source/scripts/campaign" gate_stops --cases 1000000 --build "$build" --runs "$folder" \
  > "$folder/out" 2> "$folder/err" &
pid=$!
for ((turn = 0; turn < 600; ++turn)); do
  [ ! -f "$folder/gate_stops.json" ] || break
  sleep 0.1
done
[ -f "$folder/gate_stops.json" ] || fail "no slice was noted within a minute"
kill -TERM "$pid"  # a shell lets what it starts in the background ignore an interrupt
code=0; wait "$pid" || code=$?
[ "$code" = 130 ] || fail "an interrupt exits with $code: $(cat "$folder/err")"
noted=$(cases gate_stops)
[ "$noted" -ge 200 ] || fail "only $noted cases are noted after an interrupt"
campaign gate_stops --cases $((noted + 5)) > "$folder/out"
grep -q "goes on at case $noted of $((noted + 5))" "$folder/out" || fail "$(cat "$folder/out")"
tail -1 "$folder/out" | grep -q "all $((noted + 5)) cases passed" || fail "$(cat "$folder/out")"
campaign gate_stops --cases 4 --seed 9 > "$folder/out"
[ "$(cases gate_stops)" = 4 ] || fail "another seed did not begin anew"
echo "scripts/campaign lists, refuses, runs and goes on"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds libFuzzer's targets with clang++-14 and runs each for some seconds, two at a time.
# Usage: run.sh SOURCE BUILD [SECONDS [TARGET…]]
set -euo pipefail
source=$1 build=$2 seconds=${3:-12}
pairs=("chunk safetensors" "json frame" "recording line" "profile pickle" "inflate inspector" "nsight serve" debug_mode)
[ $# -gt 3 ] && pairs=("${*:4}")
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1\ -g1 \
  -DCMAKE_CXX_COMPILER=clang++-14 -DRINGSCOPE_ENGINE=OFF -DRINGSCOPE_GUI=OFF -DRINGSCOPE_TESTS=OFF \
  -DRINGSCOPE_FUZZ=ON -DRINGSCOPE_UNITY=ON >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 2; }
cmake --build "$build" --target fuzz >>"$build.log" 2>&1 || { tail -50 "$build.log" >&2; exit 2; }
python3 "$source/tests/fuzz/corpus.py" "$build/corpus"
fuzz() {
  mkdir -p "$build/found/$1"
  if ! "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -max_len=${2:-8192} \
    -print_final_stats=1 -artifact_prefix="$build/found/$1-" "$build/found/$1" "$build/corpus/$1" \
    >"$build/$1.log" 2>&1; then
    echo "$1:" >&2
    tail -40 "$build/$1.log" >&2
    return 1
  fi
  echo "$1: $(grep -o 'number_of_executed_units: [0-9]*' "$build/$1.log") in $seconds s"
}

for pair in "${pairs[@]}"; do
  running=()
  for target in $pair; do
    fuzz "$target" "$([[ "$target" = recording || "$target" = profile ]] && echo 65536)" &
    running+=($!)
  done
  for one in "${running[@]}"; do wait "$one"; done
done

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds libFuzzer's targets with clang++-14 and runs each for some seconds.
# Usage: run.sh SOURCE BUILD [SECONDS]
set -euo pipefail
source=$1 build=$2 seconds=${3:-20}
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1\ -g1 \
  -DCMAKE_CXX_COMPILER=clang++-14 -DRINGSCOPE_ENGINE=OFF -DRINGSCOPE_GUI=OFF -DRINGSCOPE_TESTS=OFF \
  -DRINGSCOPE_FUZZ=ON >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 2; }
cmake --build "$build" --target fuzz >>"$build.log" 2>&1 || { tail -50 "$build.log" >&2; exit 2; }
python3 "$source/tests/fuzz/corpus.py" "$build/corpus"
for target in chunk safetensors json frame; do
  mkdir -p "$build/found/$target"
  if ! "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -max_len=8192 \
    -print_final_stats=1 -artifact_prefix="$build/found/$target-" "$build/found/$target" "$build/corpus/$target" \
    >"$build/$target.log" 2>&1; then
    echo "$target:" >&2
    tail -40 "$build/$target.log" >&2
    exit 1
  fi
  echo "$target: $(grep -o 'number_of_executed_units: [0-9]*' "$build/$target.log") in $seconds s"
done

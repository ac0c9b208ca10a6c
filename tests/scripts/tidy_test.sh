#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/tidy: what is guarded and read without its mutex is found, what is in order is known the next time.
# Usage: tidy_test.sh SOURCE
set -euo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "failed: $*" >&2; cat "$folder/out" >&2; exit 1; }

# A tree of its own: the script, the mutex, one file that is right and one that is not.
mkdir -p "$folder/scripts" "$folder/traces/format/core" "$folder/build/own/engine"
cp "$source/scripts/tidy" "$folder/scripts"
cp "$source/.clang-tidy" "$folder"
mkdir -p "$folder/tests"
cp "$source/tests/.clang-tidy" "$folder/tests"
cp "$source"/traces/format/core/{mutex,thread_annotations}.h "$folder/traces/format/core"
write() {  # write NAME BODY-OF-value()
  cat > "$folder/traces/$1.cpp" <<CPP
#include "traces/format/core/mutex.h"

namespace ringscope::traces {

class Counter {
 public:
  int value() const { $2 }

 private:
  mutable Mutex mutex_;
  int value_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
};

int valueOf(const Counter& counter) {
  return counter.value();
}

}  // namespace ringscope::traces
CPP
}
write right 'const MutexLock lock(mutex_); return value_;'
write wrong 'return value_;'
entry() {
  printf '{"directory": "%s", "file": "%s", "command": "c++ -std=c++20 -I%s -c %s"}' \
    "$folder" "$folder/traces/$1.cpp" "$folder" "$folder/traces/$1.cpp"
}
echo "[$(entry right), $(entry wrong)]" > "$folder/build/own/compile_commands.json"
tidy() { "$folder/scripts/tidy" --build "$folder/build/own" "$@" > "$folder/out" 2>&1; }

code=0; tidy --locks || code=$?
[ "$code" = 1 ] || fail "a read without the mutex exits with $code"
grep -q "reading variable 'value_' requires holding mutex" "$folder/out" || fail "the finding is not shown"
grep -q '1 of 2 files are not clean' "$folder/out" || fail "the right file is not clean"
tidy --locks || true
grep -q '2 files, 1 known to be clean' "$folder/out" || fail "what was clean is looked at again"
write wrong 'const MutexLock lock(mutex_); return value_;'
tidy --locks || fail "it is not clean after the mend"
tidy --locks --minutes 1 || fail "clean files are not clean"
grep -q '2 files, 2 known to be clean' "$folder/out" || fail "what was mended is looked at again"

write wrong 'const MutexLock lock(mutex_); int BadName = value_; return BadName;'
code=0; tidy traces/wrong.cpp || code=$?
[ "$code" = 1 ] || fail "a name of another style exits with $code"
grep -q "readability-identifier-naming" "$folder/out" || fail "the name is not found"
tidy traces/right.cpp || fail "the right file is not clean"
code=0; tidy traces/nowhere || code=$?
[ "$code" = 2 ] || fail "a folder that is not there exits with $code"

# Where CMake compiles the two as one, each is still looked at.
together=$folder/build/own/traces.dir/Unity/unity_0_cxx.cxx
mkdir -p "$(dirname "$together")"
printf '#include "%s"\n' "$folder"/traces/{right,wrong}.cpp > "$together"
printf '[{"directory": "%s", "file": "%s", "command": "c++ -std=c++20 -I%s -c %s"}]' \
  "$folder" "$together" "$folder" "$together" > "$folder/build/own/compile_commands.json"
write wrong 'return value_;'
code=0; tidy --locks || code=$?
[ "$code" = 1 ] || fail "a read without the mutex among files compiled as one exits with $code"
grep -q '1 of 2 files are not clean' "$folder/out" || fail "files compiled as one are not looked at one by one"
echo "scripts/tidy finds, remembers and refuses"

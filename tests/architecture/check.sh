#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The direction of dependencies: app → viz → traces and app → engine → traces, by includes and by link
# lines. Usage: check.sh SOURCE BIN (BIN may lack the window or the engine).
set -u
cd "$1" || exit 2
failed=0
complain() { echo "✗ $*"; failed=1; }

forbid() {  # forbid FOLDER PATTERN WHY
  local hits
  hits=$(grep -rnE "^#include [<\"]($2)" "$1" --include='*.h' --include='*.cpp')
  [ -z "$hits" ] || complain "$3:"$'\n'"$hits"
}
forbid traces 'engine/|viz/|app/|ATen|torch|c10|Q[A-Z]' "traces includes what it must not know"
forbid engine 'viz/|app/|Q[A-Z]' "engine includes viz, app or Qt"
forbid viz 'engine/|app/|ATen|torch|c10' "viz includes engine, app or LibTorch"
for folder in traces/doctor traces/diff traces/query; do
  forbid $folder 'traces/storage/sealed' "$folder can reach what is sealed"
done
forbid engine/verify 'traces/storage/sealed' "the verifier can reach what is sealed"
for pure in sharding control/gate transport/mailbox attention/pieces attention/schedule; do
  for file in engine/$pure*; do
    files=$file; [ -d "$file" ] && files=$file/*
    hits=$(grep -nE '^#include [<"](ATen|torch|c10)' $files)
    [ -z "$hits" ] || complain "plain index maths includes LibTorch: $hits"
  done
done
# Only the platform files may be for one system.
hits=$(grep -rlE '#include <(unistd|poll|sys/[a-z]+|pthread)\.h>' traces viz | grep -v -E 'traces/stream/frame_writer.cpp')
[ -z "$hits" ] || complain "system headers outside their file: $hits"

links() { ldd "$1" 2>/dev/null | awk '{print $1}'; }
if [ -x "$2/ringscope" ]; then
  links "$2/ringscope" | grep -q '^libQt' && complain "ringscope links Qt"
fi
if [ -x "$2/ringscope-gui" ]; then
  links "$2/ringscope-gui" | grep -qE '^lib(torch|c10)' && complain "ringscope-gui links LibTorch"
  links "$2/ringscope-gui" | grep -q '^libQt6Widgets' || complain "ringscope-gui does not link Qt; is the check blind?"
fi
# Every source says its licence; what links Qt Charts' licence is GPL.
for file in $(git ls-files '*.cpp' '*.h' 2>/dev/null); do
  want=Apache-2.0
  case $file in viz/*|app/ringscope-gui/*|tests/viz/*|tests/bench/paint.cpp) want=GPL-3.0-or-later ;; esac
  head -1 "$file" | grep -q "SPDX-License-Identifier: $want" || complain "$file does not begin with its licence ($want)"
done
[ $failed = 0 ] && echo "✓ dependencies point one way"
exit $failed

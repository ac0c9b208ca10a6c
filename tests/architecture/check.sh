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
for folder in app/command_line app/ringscope; do
  forbid $folder 'engine/|app/ringscope-engine/|viz/|ATen|torch|c10|Q[A-Z]' "what reads recordings includes engine, viz, LibTorch or Qt"
done
forbid app/ringscope-engine 'app/ringscope/|viz/|Q[A-Z]' "ringscope-engine includes ringscope, viz or Qt"
for folder in traces/analysis/doctor traces/analysis/diff traces/format/trace traces/analysis/verify; do
  forbid $folder 'traces/format/storage/sealed' "$folder can reach what is sealed"
done
forbid engine/verify 'traces/format/storage/sealed' "the verifier can reach what is sealed"
# What facts are compared with is computed without what is compared.
for oracle in plan_oracle.h plan_oracle.cpp numbers.h; do
  forbid tests/facts/$oracle 'engine/|traces/|viz/|app/|ATen|torch|c10' "the oracle shares code with what it judges"
done
# What engine/ranks.cmake builds without LibTorch, and its headers.
for file in $(grep -oE 'engine/[a-z_/]+\.cpp' engine/ranks.cmake); do
  hits=$(grep -nE '^#include [<"](ATen|torch|c10)' "$file" "${file%.cpp}.h")
  [ -z "$hits" ] || complain "a part of the engine that needs no LibTorch includes it: $hits"
done
# Folders include only folders of lower floors.
hits=$(python3 tests/architecture/floors.py . --self-test) || complain "FLOORS is not kept:"$'\n'"$hits"
# Files of at most 300 lines, functions of at most 60; a catalogue is a table and no function to read.
hits=$(find engine viz traces app tests -path traces/analysis/mistakes/catalogue -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 awk '
  FNR == 1 { split("", start) }
  FNR == 301 { print FILENAME " has more than 300 lines" }
  {
    match($0, /^ */); indent = RLENGTH; text = substr($0, indent + 1)
    if (text == "" || text ~ /^(#|\/\/)/) next
    if (text == "}" && (indent == 0 || indent == 2) && FNR - start[indent] >= 60)
      print FILENAME ":" start[indent] " is a function of " FNR - start[indent] + 1 " lines"
    else if (text !~ /^}/) start[indent] = FNR
  }')
[ -z "$hits" ] || complain "too long to read at once:"$'\n'"$hits"
# Ids are types: no header names a rank, a layer, a ring step or a tensor's id by an integer.
hits=$(grep -rnE '\b(int|long|std::int(16|32|64)_t)&? (rank|source_rank|peer|layer|ring_step|stage|seat|tensor_id)\b[^_]' \
  viz --include='*.h')
[ -z "$hits" ] || complain "a header has a bare integer for an id:"$'\n'"$hits"
# Files of views keep to the role that their suffix names.
hits=$(python3 tests/architecture/roles.py .) || complain "files of views leave their roles:"$'\n'"$hits"
hits=$(grep -rlE '^[^/]*paintEvent' viz --include='*.cpp' | grep -vE '^viz/(views/base/view|kit/elided_label)\.cpp$')
[ -z "$hits" ] || complain "only the base of views has a paintEvent; a view overrides paint(): $hits"
for file in viz/views/*/*.cpp viz/views/*/*.h viz/window/*.cpp; do
  hits=$(sed -nE '/ (\w+::)?paint\(QPainter&/,/^ {0,2}}$/p' "$file" | grep -E 'session|trace\(')
  [ -z "$hits" ] || complain "$file paints from the session instead of its scene: $hits"
done
# The plan alone names strategies, balances and rotations; other code asks it (strategy.h, balance.h).
hits=$(grep -rnE '\b(Strategy|Balance|Rotate)::k[A-Z]' traces engine viz app --include='*.h' --include='*.cpp' --include='*.cu' |
       grep -vE '^(traces/plan|traces/format/schema)/')
[ -z "$hits" ] || complain "a strategy, balance or rotation is named outside of the plan:"$'\n'"$hits"
# What a header says of ranks, layers, ring steps, tokens and tensors, it says in their types (ids.h).
hits=$(grep -rnE '\b(int|std::u?int(16|32|64)_t)&? (world_rank|cp_rank|dp_rank|tp_rank|group_rank|rank|source_rank|peer|layer|ring_step|stage|token_index|tensor_id|owner)\b' \
       traces engine viz --include='*.h')
[ -z "$hits" ] || complain "a header uses a bare number where a type is:"$'\n'"$hits"
# Only the platform files may be for one system.
hits=$(grep -rlE '#include <(unistd|poll|sys/[a-z]+|pthread)\.h>' traces viz | grep -v -E 'traces/(format/(stream/frame_writer|core/child_process|core/input_file|core/output_file|storage/(file_in_use|read_only|recording_lock))|exchange/live/(listener|listening_socket|new_file)).cpp|viz/link/(run_record|stop_with_window).cpp')
[ -z "$hits" ] || complain "system headers outside their file: $hits"

links() { ldd "$1" 2>/dev/null | awk '{print $1}'; }
if [ -x "$2/ringscope" ]; then
  links "$2/ringscope" | grep -q '^libQt' && complain "ringscope links Qt"
  links "$2/ringscope" | grep -qE '^lib(torch|c10)' && complain "ringscope links LibTorch, which reading does not need"
  links "$2/ringscope" | grep -q '^libsqlite3' || complain "ringscope does not link SQLite; is the check blind?"
fi
if [ -x "$2/ringscope-engine" ]; then
  links "$2/ringscope-engine" | grep -q '^libQt' && complain "ringscope-engine links Qt"
  links "$2/ringscope-engine" | grep -q '^libtorch' || complain "ringscope-engine does not link LibTorch; is the check blind?"
fi
if [ -x "$2/ringscope-gui" ]; then
  links "$2/ringscope-gui" | grep -qE '^lib(torch|c10)' && complain "ringscope-gui links LibTorch"
  links "$2/ringscope-gui" | grep -q '^libQt6Widgets' || complain "ringscope-gui does not link Qt; is the check blind?"
fi
# Qt finds children by their meta-object. Without Q_OBJECT, findChild<T>() returns any widget.
for type in $(grep -rhoE 'findChild(ren)?<(viz::)?[A-PR-Z]\w+\*>' viz tests --include='*.cpp' --include='*.h' |
              grep -oE '\w+\*' | tr -d '*' | sort -u); do
  header=$(grep -rlE "^class $type( final)? :" viz --include='*.h') || continue
  grep -A1 -E "^class $type( final)? :" "$header" | grep -q Q_OBJECT ||
    complain "$header: $type is searched for by findChild() but has no Q_OBJECT"
done
# Clang 14 checks the sources and cannot compile the range adaptors of GCC 12's library.
hits=$(grep -rnE 'std::(ranges::)?views::' engine viz traces app tests --include='*.h' --include='*.cpp')
[ -z "$hits" ] || complain "Clang 14 cannot compile std::views; use an algorithm or a loop:"$'\n'"$hits"

hits=$(grep -rnE 'std::ranges::(subrange|stable_partition|partition|unique|rotate|remove|remove_if|equal_range|search)\(' \
  engine viz traces app tests --include='*.h' --include='*.cpp')
[ -z "$hits" ] || complain "Clang 14 cannot compile ranges that algorithms return; use std::rotate and the like:"$'\n'"$hits"
# clang-tidy names variables in lower case, but it takes too long to look at every source in every run.
hits=$(grep -rnE '\bauto&? [a-jl-z][a-z0-9]*[A-Z]\w* = \[' engine viz traces app tests --include='*.h' --include='*.cpp')
[ -z "$hits" ] || complain "a variable that holds a lambda is named like a function:"$'\n'"$hits"
# A linker or a redirection leaves such files, and nobody needs them.
for file in $(git ls-files 2>/dev/null); do
  [ -s "$file" ] || [ ! -e "$file" ] || complain "$file is empty"
done
# Every source says its licence; what links Qt Charts' licence is GPL.
for file in $(git ls-files '*.cpp' '*.h' 2>/dev/null); do
  want=Apache-2.0
  case $file in viz/*|app/ringscope-gui/*|tests/viz/*|tests/bench/paint.cpp) want=GPL-3.0-or-later ;; esac
  head -1 "$file" | grep -q "SPDX-License-Identifier: $want" || complain "$file does not begin with its licence ($want)"
done
[ $failed = 0 ] && echo "✓ dependencies point one way"
exit $failed

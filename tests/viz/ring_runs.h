// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <utility>
#include <vector>

#include "tests/viz/ring_plan.h"

namespace ringscope::test {

inline RingRun withMask(traces::MaskKind mask, std::int64_t window = 0,
                        std::vector<traces::TokenRun> documents = {}) {
  RingRun run;
  run.mask = mask;
  run.window = window;
  run.documents = std::move(documents);
  return run;
}

inline RingRun contiguous() {
  RingRun run;
  run.balance = traces::Balance::kNone;
  return run;
}

inline RingRun sharingHeads(int ulysses) {
  RingRun run;
  run.ulysses = ulysses;
  return run;
}

inline RingRun gathering() {
  RingRun run;
  run.all_gather = true;
  return run;
}

/// Returns three documents whose borders are not borders of chunks.
inline RingRun packed() {
  return withMask(traces::MaskKind::kDocuments, 0, {{0, 40}, {40, 90}, {90, 128}});
}

struct NamedRun {
  const char* name;
  RingRun run;
};

/// Returns one run of each strategy, balance and mask.
inline std::vector<NamedRun> allKindsOfRuns() {
  RingRun striped;
  striped.balance = traces::Balance::kStriped;
  RingRun striped_window = striped;
  striped_window.mask = traces::MaskKind::kWindow;
  striped_window.window = 20;
  RingRun full = contiguous();
  full.mask = traces::MaskKind::kFull;
  RingRun packed_window = packed();
  packed_window.window = 12;
  RingRun packed_gather = packed();
  packed_gather.all_gather = true;
  RingRun hybrid_window = sharingHeads(2);
  hybrid_window.mask = traces::MaskKind::kWindow;
  hybrid_window.window = 20;
  return {{"ring", {}},
          {"contiguous", contiguous()},
          {"striped", striped},
          {"full", full},
          {"window", withMask(traces::MaskKind::kWindow, 20)},
          {"striped window", striped_window},
          {"documents", packed()},
          {"documents and window", packed_window},
          {"all_gather", gathering()},
          {"all_gather of documents", packed_gather},
          {"ulysses", sharingHeads(4)},
          {"hybrid", sharingHeads(2)},
          {"hybrid window", hybrid_window}};
}

}  // namespace ringscope::test

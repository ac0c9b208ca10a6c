// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viz/scene/data.h"
#include "viz/scene/memory_series.h"
#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

/// One stage's block and its log-sum-exp, as a line of the inspector.
struct LseLine {
  RingStep ring_step = RingStep::of(0);
  WorldRank source_rank;
  std::optional<double> mean;  ///< of the block's log-sum-exp over its rows, when there is one
  double share = 0;            ///< of the largest of the means, 0 to 1
  std::string words;           ///< in place of the mean: "to come", "nothing attended"

  friend bool operator==(const LseLine&, const LseLine&) = default;
};

/// The worst of one kind of comparison.
struct WorstLine {
  std::string words, multiple;
  bool wrong = false;

  friend bool operator==(const WorstLine&, const WorstLine&) = default;
};

/// A finding of the doctor, as the inspector shows it.
struct InspectedFinding {
  std::string title, source, evidence, remedy;

  friend bool operator==(const InspectedFinding&, const InspectedFinding&) = default;
};

/// The facts about the selected rank at the viewed moment.
struct InspectorScene {
  std::string note;  ///< why nothing is shown; empty when something is
  std::string title, attending;
  bool known = true;  ///< false: no stage of this ring step is recorded
  std::int64_t attend_ns = 0, wait_ns = 0, sums_wait_ns = 0;
  std::vector<LseLine> lse;
  std::string lse_note;  ///< why there are no lines; empty when there are
  MeanLse running_lse;   ///< over all rows that have seen a key: others than a block's
  WorldRank rank = WorldRank::of(0);
  std::int64_t end_ns = 0;  ///< of the recording; memory spans 0 to it, without its pauses
  std::shared_ptr<const MemorySeries> memory;  ///< never null
  std::vector<WorstLine> worst;                ///< empty: nothing was compared
  std::string worst_advice;                    ///< what would have compared it
  std::string doctor;                          ///< why it says nothing; empty when it does
  std::string doctor_headline;                 ///< where it found nothing: what that is worth
  bool doctor_clear = false;                   ///< nothing stood in the way of finding something
  std::vector<InspectedFinding> findings;
  int clear = 0, not_observable = 0;  ///< rules

  bool waitsLong() const { return wait_ns > attend_ns / 4; }
};

/// The inputs of an inspector besides the trace and the cursor.
struct InspectorSources {
  const RingScene& ring;  ///< of the cursor
  const traces::WorstDiffs& worst;
  const std::optional<traces::Diagnosis>& diagnosis;
  std::shared_ptr<const MemorySeries> memory;  ///< of the selected rank
  bool live = false;
};

InspectorScene makeInspectorScene(const traces::Trace& trace, const Cursor& cursor,
                                  const InspectorSources& sources);

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <string>
#include <vector>

#include "traces/format/schema/schedule_record.h"
#include "traces/format/trace/capture_advice.h"

namespace ringscope::viz {

/// Why a stage attends nothing, in words: the only place that has them.
struct WhyEmptyWords {
  const char* brief;   ///< for a card
  const char* clause;  ///< after "…; "
};

inline WhyEmptyWords emptyWords(traces::WhyEmpty why) {
  static constexpr std::array<WhyEmptyWords, static_cast<std::size_t>(traces::WhyEmpty::kCount)>
      kWords = {{
          {"planned, not recorded", "the schedule lets it attend some, and nothing is recorded"},
          {"all in the future", "all of its keys lie in these queries’ future"},
          {"out of the window", "its keys that are not in the future have left the window"},
          {"other documents", "its keys in reach belong to other documents"},
          {"masked, for several reasons",
           "its keys are in the future, out of the window or of other documents"},
      }};
  return kWords[static_cast<std::size_t>(why)];
}

/// Why none of several stages attends anything: one that was planned to does not for the mask.
inline traces::WhyEmpty whyAllEmpty(const std::vector<const traces::StageRecord*>& stages) {
  traces::WhyEmpty why = stages.front()->why_empty;
  for (const auto* stage : stages) {
    if (stage->why_empty == traces::WhyEmpty::kAttends) return traces::WhyEmpty::kAttends;
    if (stage->why_empty != why) why = traces::WhyEmpty::kSeveralReasons;
  }
  return why;
}

/// The clause for a recording without a schedule.
inline std::string noSchedule(const traces::Trace& trace) {
  return "which rows and keys a stage attends is not recorded; " + traces::scheduleAdvice(trace);
}

}  // namespace ringscope::viz

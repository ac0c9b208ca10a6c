// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/rank_caption_scene.h"

#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

std::string modelled(const RankAccount& rank) {
  const Exposure& of = rank.exposure;
  std::string words = "model: stands still for " + describeDuration(of.exposed_ns);
  if (of.late_ns > 0) words += ", " + describeDuration(of.late_ns) + " of that for late peers";
  return words + " · " + describeDuration(of.hidden_ns) + " of " +
         describeDuration(of.underWayNs()) + " in flight hidden";
}

std::string recorded(const RankAccount& rank) {
  std::string words = "stands still for " + describeDuration(rank.exposure.exposed_ns) + " · " +
                      describeDuration(rank.exposure.hidden_ns) + " of " +
                      describeDuration(rank.exposure.underWayNs()) + " in flight hidden";
  if (rank.cpu_ns > 0 && rank.wall_ns > 0)
    words += " · CPU " +
             traces::describeShare(static_cast<double>(rank.cpu_ns) /
                                   static_cast<double>(rank.wall_ns)) +
             " of its work’s wall time";
  return words;
}

}  // namespace

std::string rankCaption(const RankAccount& rank, bool model) {
  if (rank.step_ns == 0) return "nothing is recorded in this step";
  return model ? modelled(rank) : recorded(rank);
}

}  // namespace ringscope::viz

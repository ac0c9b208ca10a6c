// SPDX-License-Identifier: Apache-2.0
// Merges of partial outputs, causal convolutions and scattered features, which the recorder saw.
#include "traces/format/trace/observed_parts.h"

#include <algorithm>
#include <limits>

#include "traces/exchange/import/recording/step_notes.h"

namespace ringscope::traces {
namespace {

PartialMerge readMerge(const Line& line, const RankLines& rank) {
  PartialMerge merge;
  merge.layer = line.place(Direction::kForward).layer;
  merge.microbatch = line.microbatch();
  merge.found = line.text("found");
  merge.detail = line.text("detail");
  merge.factor = line.real("factor").value_or(std::numeric_limits<double>::quiet_NaN());
  if (line.json().value("appended", nlohmann::json()).is_boolean())
    merge.appended = line.flag("appended");
  merge.members = rank.findMembers(line.text("group"));
  return merge;
}

CausalConvolution readConvolution(const Line& line) {
  return {line.microbatch(),
          line.text("module"),
          line.whole("tokens", 0),
          line.whole("before", 0),
          line.flag("begins_with_zeros"),
          line.flag("tail_moved")};
}

ScatteredFeatures readFeatures(const Line& line) {
  return {line.microbatch(), line.whole("tokens", 0), line.whole("rows", 0), line.whole("used", 0),
          line.text("hash")};
}

}  // namespace

void addObservedParts(RecordedJob& job) {
  StepNotes merges, convolutions, features;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() == "merge") merges.add(line, rank.rank, toJson(readMerge(line, rank)));
      if (line.kind() == "convolution")
        convolutions.add(line, rank.rank, toJson(readConvolution(line)));
      if (line.kind() == "scattered") features.add(line, rank.rank, toJson(readFeatures(line)));
    }
  merges.addTo(job, partialMergesKey);
  convolutions.addTo(job, causalConvolutionsKey);
  features.addTo(job, scatteredFeaturesKey);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/diff/error_map_scene.h"

#include <algorithm>
#include <cmath>

#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"

namespace ringscope::viz {
namespace {

const char* prefix(ErrorUnit unit) {
  switch (unit) {
    case ErrorUnit::kRelative:
      return traces::kRelativeErrors;
    case ErrorUnit::kUlp:
      return traces::kUlpErrors;
    default:
      return traces::kAbsoluteErrors;
  }
}

/// Nothing where the shards are of a padded sequence.
std::vector<OwnedSpan> owners(const traces::Trace& trace, int train_step,
                              const std::vector<WorldRank>& ranks, std::int64_t positions) {
  std::vector<OwnedSpan> spans;
  std::int64_t owned = 0;
  for (const WorldRank rank : ranks) {
    const auto* shard = trace.findShard("input_ids", train_step, rank);
    if (!shard) shard = trace.findShard("q", train_step, rank);
    if (!shard) continue;
    for (const auto& run : shard->global_from_local) {
      spans.push_back({run.begin, run.end, rank});
      owned += run.end - run.begin;
    }
  }
  std::sort(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  if (owned > positions) spans.clear();
  return spans;
}

/// Returns the map of all sequences and heads, which the first rank of the run recorded.
const traces::TensorRecord* recordedMap(const traces::Trace& trace, const std::string& name,
                                        const Place& pass) {
  return trace.findTensor(traces::TensorName::of(name), pass, WorldRank::of(0));
}

/// Says why a tensor has no verdict. The reason depends on whether other tensors of its step have
/// one.
std::string whyNotCompared(const traces::Trace& trace, std::int32_t train_step) {
  const bool others = std::ranges::any_of(trace.diffs(), [&](const auto& diff) {
    return diff.isolated && diff.place.train_step == train_step;
  });
  return others ? "it was not compared: what it is computed from is not finite"
                : traces::verdictAdvice(trace, "would show it");
}

/// From the verdict's ratio a row; the largest over the batch.
ErrorMap limitMap(const traces::Trace& trace, const std::string& tensor, const Place& pass,
                  const std::vector<WorldRank>& ranks) {
  ErrorMap map;
  const auto diff = std::ranges::find_if(trace.diffs(), [&](const auto& d) {
    return d.isolated && d.tensor == tensor && d.place == pass;
  });
  const auto& shape = diff == trace.diffs().end() ? std::vector<std::int64_t>() : diff->rows.shape;
  if (shape.size() != 3 || shape[0] * shape[1] * shape[2] == 0) {
    map.missing = whyNotCompared(trace, pass.train_step);
    return map;
  }
  map.heads = shape[1];
  map.positions = shape[2];
  map.values.assign(static_cast<std::size_t>(map.heads * map.positions), 0);
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape[0]) * map.values.size(); ++row) {
    double& value = map.values[row % map.values.size()];
    value = std::max(value, diff->rows.ofRow(static_cast<std::int64_t>(row)).value_or(0));
  }
  map.owners = owners(trace, pass.train_step, ranks, map.positions);
  return map;
}

/// Errors by element need a run's own verdicts and values of the step.
std::string adviceForMap(const traces::Trace& trace, std::int32_t train_step) {
  const bool verified = trace.run() && trace.run()->verify;
  const std::string capture = "values:steps=" + std::to_string(train_step);
  if (traces::isForeign(trace) || (verified && !traces::captureWouldHelp(trace, capture)))
    return traces::verdictAdvice(trace, "would show it");
  const bool trains = !trace.run() || trace.run()->command == traces::Command::kTrain;
  const std::string verify = std::string(trains ? "" : "train with ") + "--verify";
  if (!traces::captureWouldHelp(trace, capture)) return verify + " would show it";
  return verify + " with " + traces::valuesAdvice(trace, train_step, "would show it");
}

}  // namespace

traces::Direction tensorDirection(const std::string& tensor) {
  return tensor.starts_with("d") ? traces::Direction::kBackward : traces::Direction::kForward;
}

ErrorMap makeErrorMap(const traces::Trace& trace, const Cursor& cursor, ErrorUnit unit) {
  ErrorMap map;
  const std::string& tensor = cursor.tensor;
  const auto ranks = groupRanks(trace, cursor.group);
  Place pass = cursor.place;
  pass.direction = tensorDirection(tensor);
  pass.stage = RingStep::none();
  if (unit == ErrorUnit::kLimit) return limitMap(trace, tensor, pass, ranks);
  const auto* record = recordedMap(trace, prefix(unit) + tensor, pass);
  const auto values = record ? trace.values(*record) : std::nullopt;
  if (!values || values->empty() || record->shape.size() != 2) {
    map.missing = adviceForMap(trace, pass.train_step);
    return map;
  }
  map.heads = record->shape[0];
  map.positions = record->shape[1];
  map.values = *values;
  map.owners = owners(trace, pass.train_step, ranks, map.positions);
  return map;
}

std::vector<std::int64_t> logHistogram(const std::vector<double>& values, double unit, int decades,
                                       int bins_a_decade) {
  const int count = (decades + 1) * bins_a_decade;
  std::vector<std::int64_t> bins(static_cast<std::size_t>(count), 0);
  for (const double v : values) {
    const double share = v / unit;
    const int bin = std::isnan(v) || std::isinf(v) ? count - 1
                    : share <= 0.1                 ? 0
                                   : static_cast<int>((std::log10(share) + 1) * bins_a_decade);
    ++bins[static_cast<std::size_t>(std::clamp(bin, 0, count - 1))];
  }
  return bins;
}

}  // namespace ringscope::viz

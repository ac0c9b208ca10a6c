// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "traces/analysis/compare/input_rows.h"
#include "traces/analysis/compare/logical_tensor.h"
#include "traces/analysis/compare/parts.h"
#include "traces/format/core/whole_number.h"
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {
namespace {

constexpr const char* kInputs[] = {"buffer.input_ids", "buffer.labels", "position_ids"};

/// Returns the inputs by training step and name.
std::map<std::pair<std::int32_t, std::string>, InputRows> inputsOf(const Trace& trace,
                                                                   RunComparison& comparison) {
  std::map<std::pair<std::int32_t, std::string>, InputRows> inputs;
  for (const TensorRecord& tensor : trace.tensors())
    for (const char* name : kInputs)
      if (tensor.has_values && tensor.tensor.text() == name && tensor.microbatch == 0)
        unlessDamaged(comparison, [&] {
          addInputPart(trace, tensor, inputs[{tensor.place.train_step, name}]);
        });
  return inputs;
}

/// Compares values that are names and have no distance: `worst` is the share of values that differ.
TensorDifference differenceOf(const InputRows& ours, const InputRows& theirs) {
  TensorDifference found;
  for (const auto& [at, entry] : ours) {
    const auto match = theirs.find(at);
    if (match == theirs.end()) {
      ++found.unmatched;
      continue;
    }
    ++found.rows;
    if (entry.value == match->second.value || found.differing++ > 0) continue;
    found.at = {at.first, {}, at.second};
    found.rank = entry.rank;
    found.other = match->second.rank;
  }
  for (const auto& [at, entry] : theirs)
    if (!ours.contains(at)) ++found.unmatched;
  if (found.rows > 0)
    found.worst = static_cast<double>(found.differing) / static_cast<double>(found.rows);
  return found;
}

/// Returns the position ids of the first sequence. A new run of tokens begins when the rank, the
/// counting or the agreement changes.
std::vector<HeldPositions> heldPositions(const InputRows& ours, const InputRows& theirs) {
  std::vector<HeldPositions> held;
  for (const auto& [at, entry] : ours) {
    if (at.first != 0) break;
    const auto match = theirs.find(at);
    const std::int64_t position = wholeNumber(entry.value);
    const bool differs = match != theirs.end() && match->second.value != entry.value;
    const bool goes_on = !held.empty() && held.back().rank == entry.rank &&
                         held.back().differs == differs &&
                         held.back().token.value() + held.back().tokens == at.second &&
                         held.back().position + held.back().tokens == position;
    if (!goes_on) held.push_back({TokenIndex::of(at.second), 0, position, entry.rank, differs});
    ++held.back().tokens;
  }
  return held;
}

/// The largest number of runs that a picture can show; of more, only the difference is kept.
constexpr std::size_t kMostHeld = 4096;

void addPositions(const InputRows& ours, const InputRows& theirs, std::int32_t train_step,
                  RunComparison& comparison) {
  PositionPair pair{train_step, heldPositions(ours, theirs), heldPositions(theirs, ours)};
  if (pair.run.size() <= kMostHeld && pair.other.size() <= kMostHeld)
    comparison.positions.push_back(std::move(pair));
}

}  // namespace

void addInputPart(const Trace& trace, const TensorRecord& part, InputRows& rows) {
  if (part.shape.empty() || part.shape.size() > 2) return;
  const std::int64_t length = part.shape.back(), batch = part.shape.size() == 2 ? part.shape[0] : 1;
  const auto values = trace.values(part);
  const auto tokens = ownTokens(trace, part.place.train_step, part.rank, length);
  if (!values || std::ssize(tokens) != length) return;
  const std::int64_t first = coordinate(trace, part.rank, GroupAxis::kDp) * batch;
  for (std::int64_t row = 0; row < batch; ++row)
    for (std::int64_t i = 0; i < length; ++i)
      rows.try_emplace(
          {first + row, tokens[static_cast<std::size_t>(i)].value()},
          InputEntry{(*values)[static_cast<std::size_t>(row * length + i)], part.rank});
}

void compareInputs(const Trace& run, const Trace& other, RunComparison& comparison) {
  const auto ours = inputsOf(run, comparison), theirs = inputsOf(other, comparison);
  for (const auto& [key, entries] : ours) {
    const auto found = theirs.find(key);
    if (found == theirs.end() || entries.empty() || found->second.empty()) continue;
    TensorDifference difference = differenceOf(entries, found->second);
    difference.place = {key.first};
    difference.tensor = key.second;
    if (difference.tensor == "position_ids" && difference.differing > 0)
      addPositions(entries, found->second, key.first, comparison);
    comparison.all.push_back(std::move(difference));
  }
}

}  // namespace ringscope::traces

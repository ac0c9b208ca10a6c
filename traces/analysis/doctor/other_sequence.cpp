// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/other_sequence.h"

#include <algorithm>
#include <vector>

#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

using Members = std::vector<WorldRank>;

/// Returns the declaration for the sequence of these ranks; null when there is none.
const IntentRecord* meantFor(const Trace& trace, const AttentionPass& pass,
                             const Members& members) {
  return members.empty() ? nullptr
                         : trace.intent(pass.place.train_step, members.front(), pass.place.layer,
                                        pass.microbatch);
}

bool tokensDiffer(const Trace& trace, std::int32_t train_step, const Members& a, const Members& b) {
  const TensorName tokens = {TensorKind::kBuffer, "input_ids"};
  const Place place = {train_step};
  for (std::size_t seat = 0; seat < a.size(); ++seat) {
    const TensorRecord *of_a = trace.findTensor(tokens, place, a[seat]),
                       *of_b = trace.findTensor(tokens, place, b[seat]);
    if (of_a && of_b && of_a->hash != of_b->hash) return true;
  }
  return false;
}

bool follows(CoverageCounter& counter, const AttentionPass& pass, const Members& members,
             const IntentRecord& meant) {
  for (std::size_t seat = 0; seat < members.size(); ++seat)
    if (!counter.count(pass, seat, meant).isAsDeclared()) return false;
  return true;
}

}  // namespace

WorldRank otherSequenceFollowed(const Trace& trace, CoverageCounter& counter,
                                const AttentionPass& pass, const Members& members) {
  std::vector<const IntentRecord*> tried = {meantFor(trace, pass, members)};
  for (const Members& other : sequenceGroups(trace, {pass.place.train_step, pass.microbatch})) {
    const IntentRecord* meant = meantFor(trace, pass, other);
    if (!meant || other.size() != members.size()) continue;
    const bool known = std::ranges::any_of(tried, [&](const IntentRecord* one) {
      return one && one->documents == meant->documents && one->mask == meant->mask &&
             one->window == meant->window;
    });
    if (known || tokensDiffer(trace, pass.place.train_step, members, other)) continue;
    if (follows(counter, pass, members, *meant)) return other.front();
    tried.push_back(meant);
  }
  return WorldRank();
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Where a rank's keys were attended by others, the sums of their gradients come to it.
#include <algorithm>

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// A rank that no message brought the gradients of its keys, and who has some of them.
struct Waiting {
  WorldRank owner, attended_by;  ///< attended_by: none: they are in what it sent away itself
};

bool isOfBlock(const Event& message, EventKind kind, WorldRank owner) {
  return message.kind == kind && message.payload == Payload::kDkv && message.source_rank == owner;
}

std::vector<Waiting> waitingIn(const AttentionPass& pass, const std::vector<WorldRank>& members) {
  std::vector<Waiting> all;
  for (std::size_t seat = 0; seat < members.size(); ++seat) {
    const WorldRank owner = members[seat];
    const auto moved = [&](EventKind kind) {
      return std::ranges::any_of(pass.messages[seat], [&](const Event* message) {
        return isOfBlock(*message, kind, owner);
      });
    };
    if (moved(EventKind::kReceive)) continue;
    WorldRank attended_by;
    for (std::size_t other = 0; other < members.size() && attended_by.isNone(); ++other)
      if (other != seat && std::ranges::any_of(pass.attended[other], [&](const Event* piece) {
            return piece->source_rank == owner;
          }))
        attended_by = members[other];
    if (attended_by.exists() || moved(EventKind::kSend)) all.push_back({owner, attended_by});
  }
  return all;
}

Finding finding(const AttentionPass& pass, const std::vector<Waiting>& waiting, std::size_t ranks) {
  Finding f;
  f.rule = "dkv_not_returned";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "dK and dV do not come back to the rank that owns the block";
  f.place = pass.place;
  f.rank = waiting.front().owner;
  f.buffer = "dkv";
  const WorldRank by = waiting.front().attended_by;
  f.evidence = (by.exists() ? "Rank " + toString(by) + " attends keys of rank " + toString(f.rank) +
                                  " in backward"
                            : "Rank " + toString(f.rank) +
                                  " sends the dK and dV of its own block away in backward") +
               ", and no message brings rank " + toString(f.rank) + " their sums. So it is with " +
               std::to_string(waiting.size()) + " of " + std::to_string(ranks) + " ranks.";
  f.remedy =
      "Pass dK and dV on once more after the last ring step: a ring of n ranks that begins with "
      "its own block takes n hops until each sum is home.";
  return f;
}

}  // namespace

RuleResult checkDkvNotReturned(const Trace& trace) {
  std::string missing;
  bool judged = false;
  for (const auto& members : sequenceGroups(trace))
    for (const AttentionPass& pass : attentionPasses(trace, members)) {
      if (pass.place.direction != Direction::kBackward) continue;
      const auto waiting = waitingIn(pass, members);
      if (!pass.complete) {
        missing = missingEvents(trace);
        if (missing.empty() && !waiting.empty())
          missing = "needs what all ranks recorded; join their files with ringscope merge";
        continue;
      }
      judged = true;
      if (!waiting.empty()) return found(finding(pass, waiting, members.size()));
    }
  if (!missing.empty()) return notObservable(missing);
  if (judged || missingEvents(trace).empty()) return clear();
  return notObservable(missingEvents(trace));
}

}  // namespace ringscope::traces

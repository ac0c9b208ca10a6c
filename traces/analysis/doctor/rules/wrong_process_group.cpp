// SPDX-License-Identifier: Apache-2.0
// What attention sends goes to ranks that share the sender's sequence.
#include <algorithm>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

bool isOfAttention(const Event& event) {
  const bool moves = event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
  return moves && (event.payload == Payload::kKv || event.payload == Payload::kDkv ||
                   event.payload == Payload::kHeads);
}

std::string describe(const std::vector<WorldRank>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, ranks.size()); ++i)
    text += (text.empty() ? "" : ", ") + toString(ranks[i]);
  return text + (ranks.size() > kMost ? ", …" : "");
}

/// Where it is recorded, in which group the message was posted.
std::string describeGroup(const Trace& trace, const Event& event) {
  for (const GroupRecord& group : trace.groups())
    if (group.id == event.group && std::ranges::count(group.members, event.peer) > 0)
      return std::string(" in the ") + name(group.axis) + " group of ranks " +
             describe(group.members);
  return "";
}

Finding finding(const Trace& trace, const Event& event, const GroupRecord& cp) {
  const bool sends = event.kind == EventKind::kSend;
  Finding f;
  f.rule = "wrong_process_group";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Attention talks to ranks of another group";
  f.place = event.place;
  f.rank = event.rank;
  f.buffer = name(event.payload);
  f.evidence = "Rank " + toString(event.rank) + (sends ? " sends " : " receives ") +
               describeBytes(event.bytes) + (sends ? " to" : " from") + " rank " +
               toString(event.peer) + describeGroup(trace, event) +
               ", and shares its sequence with ranks " + describe(cp.members) + " only.";
  f.remedy =
      "Give attention the cp group of the mesh (mesh[\"cp\"].get_group()), and turn a rank of that "
      "group into a global one where the operation asks for global ranks "
      "(dist.get_global_rank(group, rank)).";
  return f;
}

}  // namespace

RuleResult checkWrongProcessGroup(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool knows_groups = false;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const GroupRecord* cp = trace.groupOf(WorldRank::of(rank), GroupAxis::kCp);
    if (!cp) continue;
    knows_groups = true;
    std::vector<WorldRank> members = cp->members;
    std::ranges::sort(members);
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      const bool elsewhere = isOfAttention(event) && event.peer.exists() &&
                             !std::ranges::binary_search(members, event.peer);
      if (elsewhere) return found(finding(trace, event, *cp));
    }
  }
  return knows_groups ? clear() : notObservable("needs which ranks share a sequence");
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {
namespace {

/// The first flow number of messages, above all flow numbers of collectives.
constexpr std::uint64_t kFirstFlow = std::uint64_t{1} << 40;

/// Sender, receiver, tag, and the group's name and members when known.
using Channel = std::tuple<WorldRank, WorldRank, std::int64_t, std::string, std::vector<WorldRank>>;

struct Ends {
  std::vector<Call*> sends, receives;
  void add(Call& call) { (call.kind == EventKind::kSend ? sends : receives).push_back(&call); }
};

Channel channelOf(const ProfiledRank& rank, const Call& call) {
  const bool sends = call.kind == EventKind::kSend;
  const NamedGroup group =
      call.group < 0 ? NamedGroup() : rank.groups[static_cast<std::size_t>(call.group)];
  return {sends ? rank.rank : call.peer, sends ? call.peer : rank.rank, call.tag, group.name,
          group.members};
}

class MessageMatch {
 public:
  MessageMatch(ProfiledJob& job, Matched& matched)
      : matched_(matched), steps_(std::ranges::all_of(job.ranks, &ProfiledRank::marks_steps)) {}

  void matchChannel(Ends& ends) {
    std::ranges::stable_sort(ends.sends, {}, &Call::posted_ns);
    std::ranges::stable_sort(ends.receives, {}, &Call::posted_ns);
    if (ends.sends.size() == ends.receives.size() || !steps_) return pair(ends);
    std::map<std::int32_t, Ends> by_step;
    for (Call* call : ends.sends) by_step[call->train_step].add(*call);
    for (Call* call : ends.receives) by_step[call->train_step].add(*call);
    for (const auto& [step, of_step] : by_step) pair(of_step);
  }

 private:
  /// Matches messages in order when both sides have the same number.
  void pair(const Ends& ends) {
    if (ends.sends.size() != ends.receives.size()) return;
    for (std::size_t i = 0; i < ends.sends.size(); ++i) {
      Call &send = *ends.sends[i], &receive = *ends.receives[i];
      if (!mayBeOne(send, receive)) continue;
      send.flow = receive.flow = kFirstFlow + ++flow_;
      ++matched_.messages;
    }
  }

  Matched& matched_;
  bool steps_;
  std::uint64_t flow_ = 0;
};

}  // namespace

void matchMessages(ProfiledJob& job, Matched& matched) {
  tellPeers(job);
  std::map<Channel, Ends> channels;
  for (ProfiledRank& rank : job.ranks)
    for (Call& call : rank.calls)
      if (call.kind != EventKind::kCollective && call.peer.exists())
        channels[channelOf(rank, call)].add(call);
  MessageMatch match(job, matched);
  for (auto& [channel, ends] : channels) match.matchChannel(ends);
  for (const ProfiledRank& rank : job.ranks)
    for (const Call& call : rank.calls)
      matched.unmatched_messages += call.kind != EventKind::kCollective && call.flow == 0;
}

}  // namespace ringscope::traces

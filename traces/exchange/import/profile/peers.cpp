// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {
namespace {

/// A message of which only the peer's rank in an unknown group is recorded, and the possible peers.
struct Open {
  ProfiledRank* rank = nullptr;
  Call* call = nullptr;
  std::vector<WorldRank> may_be;
  bool taken = false;
};

/// Sender, receiver and tag.
using Way = std::tuple<std::int32_t, std::int32_t, std::int64_t>;

/// A send and a receive that may be one message.
struct Pair {
  Open *send = nullptr, *receive = nullptr;
  int open_ends = 0;  ///< number of the two ends with other possible peers
  std::int64_t apart_ns = 0;
};

std::vector<WorldRank> possiblePeers(const ProfiledRank& rank, const Call& call) {
  std::vector<WorldRank> peers;
  for (std::int32_t g = 0; g < std::ssize(rank.groups); ++g) {
    const auto& members = rank.groups[static_cast<std::size_t>(g)].members;
    if ((call.group >= 0 && g != call.group) || call.peer_in_group >= std::ssize(members)) continue;
    const WorldRank peer = members[static_cast<std::size_t>(call.peer_in_group)];
    if (peer != rank.rank && std::ranges::count(peers, peer) == 0) peers.push_back(peer);
  }
  return peers;
}

std::vector<Open> openCalls(ProfiledJob& job, EventKind kind) {
  std::vector<Open> open;
  for (ProfiledRank& rank : job.ranks)
    for (Call& call : rank.calls)
      if (call.kind == kind && call.peer.isNone() && call.peer_in_group >= 0)
        open.push_back({&rank, &call, possiblePeers(rank, call)});
  std::ranges::stable_sort(open, {}, [](const Open& of) { return of.call->posted_ns; });
  return open;
}

/// The sends by each way that they may have gone, in the order of posting.
using SendsByWay = std::map<Way, std::vector<Open*>>;

SendsByWay byWay(std::vector<Open>& sends) {
  SendsByWay ways;
  for (Open& send : sends)
    for (const WorldRank to : send.may_be)
      ways[{send.rank->rank.value(), to.value(), send.call->tag}].push_back(&send);
  return ways;
}

/// Returns pairs of each receive with the sends that were posted at about the same time.
std::vector<Pair> possiblePairs(const SendsByWay& ways, std::vector<Open>& receives) {
  constexpr std::ptrdiff_t kNearest = 4;  // number of sends to consider on either side
  std::vector<Pair> pairs;
  for (Open& receive : receives)
    for (const WorldRank from : receive.may_be) {
      const auto found = ways.find({from.value(), receive.rank->rank.value(), receive.call->tag});
      if (found == ways.end()) continue;
      const auto& sends = found->second;
      const auto after =
          std::ranges::lower_bound(sends, receive.call->posted_ns, {},
                                   [](const Open* send) { return send->call->posted_ns; }) -
          sends.begin();
      for (auto at = std::max<std::ptrdiff_t>(after - kNearest, 0);
           at < std::min<std::ptrdiff_t>(after + kNearest, std::ssize(sends)); ++at) {
        Open* send = sends[static_cast<std::size_t>(at)];
        if (!mayBeOne(*send->call, *receive.call)) continue;
        const int open_ends = (send->may_be.size() > 1) + (receive.may_be.size() > 1);
        pairs.push_back(
            {send, &receive, open_ends, std::abs(send->call->posted_ns - receive.call->posted_ns)});
      }
    }
  std::ranges::stable_sort(
      pairs, {}, [](const Pair& pair) { return std::pair(pair.open_ends, pair.apart_ns); });
  return pairs;
}

/// Returns the group in which both ranks have the place that the other side recorded; −1 when there
/// is none or more than one.
std::int32_t commonGroup(const Open& one, const Open& other) {
  std::int32_t common = -1;
  for (std::int32_t g = 0; g < std::ssize(one.rank->groups); ++g) {
    const NamedGroup& group = one.rank->groups[static_cast<std::size_t>(g)];
    const auto is_at = [&](const Call& call, WorldRank rank) {
      return call.peer_in_group < std::ssize(group.members) &&
             group.members[static_cast<std::size_t>(call.peer_in_group)] == rank;
    };
    if (!is_at(*one.call, other.rank->rank) || !is_at(*other.call, one.rank->rank)) continue;
    if (common >= 0) return -1;
    common = g;
  }
  return common;
}

void settle(Open& one, const Open& other) {
  one.taken = true;
  one.call->peer = other.rank->rank;
  one.call->group = commonGroup(one, other);
}

}  // namespace

bool mayBeOne(const Call& send, const Call& receive) {
  if (send.bytes >= 0 && receive.bytes >= 0 && send.bytes != receive.bytes) return false;
  return !receive.completes || receive.end_ns + kClockSlackNs >= send.posted_ns;
}

void tellPeers(ProfiledJob& job) {
  std::vector<Open> sends = openCalls(job, EventKind::kSend),
                    receives = openCalls(job, EventKind::kReceive);
  for (const Pair& pair : possiblePairs(byWay(sends), receives)) {
    if (pair.send->taken || pair.receive->taken) continue;
    settle(*pair.send, *pair.receive);
    settle(*pair.receive, *pair.send);
  }
  for (auto* calls : {&sends, &receives})
    for (Open& open : *calls)
      if (!open.taken && open.may_be.size() == 1) open.call->peer = open.may_be.front();
}

}  // namespace ringscope::traces

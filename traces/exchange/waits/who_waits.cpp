// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/waits/who_waits.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kUnseenNs = 1'000'000'000;

/// Returns the key of a meeting point. Both ends of a message have the same key.
auto meetingOf(const Post& post) {
  return std::tuple(post.group, post.isMessage(), post.from, post.to, post.tag, post.nth);
}

struct Stand {
  const RankSeen* rank;
  Post post;
  std::int64_t for_ns;
};

std::vector<Stand> standsOf(const std::vector<RankSeen>& ranks) {
  std::vector<Stand> stands;
  for (const RankSeen& rank : ranks) {
    if (!rank.here || rank.ended || rank.paused) continue;
    const Standing& standing = rank.standing;
    if (standing.in)
      stands.push_back({&rank, *standing.in, standing.in_ns + rank.silent_ns});
    else if (standing.newest && standing.quiet_ns > kUnseenNs)
      stands.push_back({&rank, *standing.newest, standing.quiet_ns + rank.silent_ns});
  }
  return stands;
}

const RankSeen* find(const std::vector<RankSeen>& ranks, WorldRank rank) {
  const auto found = std::ranges::find(ranks, rank, &RankSeen::rank);
  return found == ranks.end() ? nullptr : &*found;
}

std::string whereOf(const Post& post, const std::vector<WorldRank>& members) {
  const std::string nth = std::to_string(post.nth), size = " (" + describeBytes(post.bytes) + ")";
  if (post.isMessage())
    return "message " + nth + " from " +
           (post.from.exists() ? "rank " + toString(post.from) : "any rank") + " to rank " +
           toString(post.to) + (post.tag ? " with tag " + std::to_string(post.tag) : "") + size;
  return post.operation + " " + nth + " of " +
         (members.empty() ? "group " + post.group : describeRanks(members)) +
         (post.operation == "barrier" ? "" : size);
}

/// Describes the state of a rank that has not come.
std::string stateOf(const RankSeen* rank) {
  if (rank && !rank->unseen.empty()) return rank->unseen;
  if (!rank) return "is not here: its recorder has not connected";
  if (rank->ended) return "has ended its recording";
  if (!rank->here) return "is gone: its connection has ended";
  if (rank->paused) return "is held at a step border";
  const Standing& standing = rank->standing;
  std::string words;
  if (standing.in) {
    const auto group = standing.members.find(standing.in->group);
    words = "stands in " + whereOf(*standing.in, group == standing.members.end()
                                                     ? std::vector<WorldRank>()
                                                     : group->second);
  } else {
    words = "waits for nobody that is seen";
  }
  if (!standing.at.empty()) words += ", at " + standing.at;
  words += ", in training step " + std::to_string(standing.train_step);
  const std::int64_t quiet = standing.quiet_ns + rank->silent_ns;
  if (quiet > kUnseenNs) words += "; nothing was seen of it for " + describeDuration(quiet);
  return words;
}

/// Describes how a rank posted something else, or another size, at the same meeting point; empty:
/// it matches.
std::string misfit(const RankSeen& rank, const Posted& posted, const Post& post) {
  const auto same = std::ranges::find(posted.last, post.nth, &Posted::One::nth);
  if (same == posted.last.end()) return "";
  if (!post.isMessage() && same->operation != post.operation)
    return "rank " + toString(rank.rank) + " has posted " + same->operation + " there";
  constexpr std::string_view kOneSize[] = {"all_reduce", "broadcast", "send", "receive"};
  if (same->bytes != post.bytes &&
      std::ranges::find(kOneSize, post.operation) != std::end(kOneSize))
    return "rank " + toString(rank.rank) + " has posted it with " + describeBytes(same->bytes);
  return "";
}

class Meeting {
 public:
  Meeting(const std::vector<RankSeen>& ranks, const Stand& first)
      : ranks_(ranks), post_(first.post) {
    for (const RankSeen& rank : ranks) {
      const auto group = rank.standing.members.find(post_.group);
      if (group != rank.standing.members.end() && members_.empty()) members_ = group->second;
    }
    wait_.where = whereOf(post_, members_);
  }

  void add(const Stand& stand) {
    wait_.ranks.push_back(stand.rank->rank);
    wait_.longest_ns = std::max(wait_.longest_ns, stand.for_ns);
    wait_.seen = wait_.seen || stand.rank->standing.in.has_value();
  }

  Wait told() {
    if (!post_.isMessage())
      for (const WorldRank member : members_) ask(member, "");
    else if (stands(post_.from))
      ask(post_.to, "receive");
    else if (post_.from.exists())
      ask(post_.from, "send");
    return std::move(wait_);
  }

 private:
  bool stands(WorldRank rank) const {
    return std::ranges::find(wait_.ranks, rank) != wait_.ranks.end();
  }

  /// Records whether the rank has come to the meeting point. `kind` is its side of a message.
  void ask(WorldRank member, const std::string& kind) {
    const RankSeen* rank = find(ranks_, member);
    const Posted* posted = rank ? rank->standing.of(post_, kind) : nullptr;
    if (posted && posted->nth >= post_.nth) {
      if (const std::string words = misfit(*rank, *posted, post_); !words.empty()) {
        wait_.because.push_back(words);
        wait_.odd.push_back(member);
      }
      return;
    }
    if (stands(member)) return;
    wait_.missing.push_back(member);
    wait_.because.push_back("rank " + toString(member) + " " + stateOf(rank));
  }

  const std::vector<RankSeen>& ranks_;
  Post post_;
  std::vector<WorldRank> members_;
  Wait wait_;
};

/// Returns the lists of ranks that wait for each other, each list once.
std::vector<std::vector<WorldRank>> circles(const std::vector<Wait>& waits) {
  std::map<WorldRank, std::set<WorldRank>> waits_for;
  for (const Wait& wait : waits)
    for (const WorldRank rank : wait.ranks)
      waits_for[rank].insert(wait.missing.begin(), wait.missing.end());
  for (bool grew = true; grew;) {  // ranks that a rank waits for through others
    grew = false;
    for (auto& [rank, others] : waits_for)
      for (const WorldRank other : std::set(others))
        for (const WorldRank next : waits_for[other]) grew = others.insert(next).second || grew;
  }
  std::set<std::vector<WorldRank>> found;
  for (auto& [rank, others] : waits_for) {
    if (!others.contains(rank)) continue;
    std::vector<WorldRank> circle;
    for (const WorldRank other : others)
      if (waits_for[other].contains(rank)) circle.push_back(other);
    found.insert(circle);
  }
  return {found.begin(), found.end()};
}

}  // namespace

std::string Wait::sentence() const {
  std::string words = describeRanks(ranks) + (ranks.size() == 1 ? " has" : " have") +
                      " waited in " + where + " for " + describeDuration(longest_ns);
  if (!missing.empty())
    words += ": " + describeRanks(missing) + (missing.size() == 1 ? " has" : " have") +
             " not come there";
  return words;
}

std::vector<Wait> whoWaits(const std::vector<RankSeen>& ranks) {
  std::map<decltype(meetingOf(Post())), Meeting> meetings;
  for (const Stand& stand : standsOf(ranks))
    meetings.try_emplace(meetingOf(stand.post), ranks, stand).first->second.add(stand);
  std::vector<Wait> waits;
  for (auto& [where, meeting] : meetings)
    if (Wait wait = meeting.told(); wait.seen || wait.isTold())  // otherwise no rank needs to be
                                                                 // waiting
      waits.push_back(std::move(wait));
  std::ranges::stable_sort(waits, [](const Wait& a, const Wait& b) {
    return std::pair(a.isTold(), a.longest_ns) > std::pair(b.isTold(), b.longest_ns);
  });
  return waits;
}

std::vector<std::string> describeWaits(const std::vector<Wait>& waits) {
  std::vector<std::string> lines;
  for (const Wait& wait : waits) {
    lines.push_back(wait.sentence());
    for (const std::string& because : wait.because) lines.push_back("  " + because);
  }
  for (const auto& circle : circles(waits))
    lines.push_back(describeRanks(circle) + " wait for each other: none of them can go on");
  return lines;
}

bool waitForEachOther(const std::vector<Wait>& waits) {
  return !circles(waits).empty();
}

bool hangs(const std::vector<Wait>& waits, std::int64_t after_ns) {
  return std::ranges::any_of(
      waits, [&](const Wait& wait) { return wait.isTold() && wait.longest_ns >= after_ns; });
}

std::string describeRanks(std::vector<WorldRank> ranks) {
  std::ranges::sort(ranks);
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  const bool row = ranks.size() > 2 && ranks.back().value() - ranks.front().value() + 1 ==
                                           static_cast<std::int32_t>(ranks.size());
  if (row) return words + toString(ranks.front()) + " to " + toString(ranks.back());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    words += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + toString(ranks[i]);
  return words;
}

}  // namespace ringscope::traces

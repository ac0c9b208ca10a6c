// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// By how much the clocks of ranks on one machine may differ.
inline constexpr std::int64_t kClockSlackNs = 1'000'000;

/// A process group as its ranks name it.
struct NamedGroup {
  std::string name;
  std::vector<WorldRank> members;  ///< in the order of their group ranks
  friend bool operator==(const NamedGroup&, const NamedGroup&) = default;
};

/// A collective, a send or a receive as one rank called it. Times are nanoseconds of the wall
/// clock.
struct Call {
  EventKind kind = EventKind::kCollective;  ///< or kSend, kReceive
  std::string name;                         ///< of a collective, in one spelling: "all_reduce"
  std::int64_t posted_ns = 0, start_ns = 0;
  std::int64_t end_ns = 0;  ///< when it was complete; where that is not known, the call's return
  bool completes = false;   ///< that it was complete is known
  std::int64_t bytes = -1;  ///< that this rank put in or got; -1: not recorded
  std::int32_t train_step = 0;
  std::int64_t sequence = -1;  ///< its number within its group; -1: not recorded
  std::int32_t group = -1;     ///< of the rank's groups; -1: not recorded
  WorldRank peer;              ///< none: not recorded, or only its group rank is
  std::int32_t peer_in_group = -1;
  std::int64_t tag = 0;
  std::int64_t thread = 0;  ///< that carried it out
  Direction direction = Direction::kForward;
  Clock clock = Clock::kHost;
  std::uint8_t queue = 0;
  std::uint64_t flow = 0;  ///< 0: not matched
};

/// One rank's file.
struct ProfiledRank {
  WorldRank rank = WorldRank::of(0);
  std::int32_t world_size = 1;
  std::string file;
  std::vector<NamedGroup> groups;  ///< that the rank is in, in the order of their making
  std::vector<Call> calls;
  std::vector<Event> stages;  ///< what else it did; times as those of calls
  bool marks_steps = false;   ///< training steps are marked, and train_step is one of them
};

/// A job as its ranks' files have it.
struct ProfiledJob {
  std::string format;  ///< which tool wrote the files, as importedFrom() says it
  std::vector<ProfiledRank> ranks;
  std::vector<std::string> standing;  ///< where ranks stood when a dump was taken
  std::vector<std::string> lacks;     ///< what these files cannot tell, and what would
  std::vector<std::string> problems;  ///< what is damaged and left out
};

/// How many were matched: a collective or a message is one, a call without the others is one.
struct Matched {
  std::int64_t collectives = 0, messages = 0;
  std::int64_t unmatched_collectives = 0, unmatched_messages = 0;
};

/// Sorts the ranks, and throws inputError where they are not of one job: two of one rank, another
/// world size, groups of one name that share some ranks only, times more than a week apart.
void checkOneJob(ProfiledJob& job);

/// Gives collectives whose group was not recorded a group: all that one thread carried out has the
/// same, since a thread of Gloo works for one group. It is the largest of the rank's groups in
/// which every member called the same at the same time; of more than two threads for one group the
/// later ones work for a smaller one. Those that fit none stay without.
void tellGroups(ProfiledJob& job);

/// Gives the calls of one collective the same flow: those of one group with the same number, else
/// in the same order. Where ranks called different numbers of them, training steps decide; where
/// these differ too, they stay unmatched. A sentence of what does not fit goes to `lacks`.
void matchCollectives(ProfiledJob& job, Matched& matched);

/// Whether a send and a receive fit each other by size and time: none is over before the other side
/// was posted.
bool mayBeOne(const Call& send, const Call& receive);

/// Gives messages whose peer is known as a group rank alone, and not of which group, the peer that
/// posted the other side about when they were; calls for which one peer alone is possible come
/// first. The group follows where these two ranks share one alone.
void tellPeers(ProfiledJob& job);

/// Gives a send and its receive the same flow, after telling peers: by pair of ranks, group and
/// tag, in the order of posting, where they fit. Where one side posted more, training steps decide;
/// where these differ too, they stay unmatched.
void matchMessages(ProfiledJob& job, Matched& matched);

/// Matches all calls and makes the recording: groups, events of calls and stages, notes. Run clock
/// 0 is the earliest time.
std::shared_ptr<ChunkSource> sourceOf(ProfiledJob job);

/// World ranks of a group that have a file.
std::vector<std::size_t> presentMembers(const ProfiledJob& job, const NamedGroup& group);

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// The largest difference between the clocks of ranks on one machine, in nanoseconds.
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
  EventKind kind = EventKind::kCollective;  ///< kCollective, kSend or kReceive
  std::string name;                         ///< name of a collective in canonical spelling:
                                            ///< "all_reduce"
  std::int64_t posted_ns = 0, start_ns = 0;
  std::int64_t end_ns = 0;  ///< time of completion; when unknown, the return of the call
  bool completes = false;   ///< end_ns is the time of completion
  std::int64_t bytes = -1;  ///< bytes that this rank contributed or received; -1: not recorded
  std::int32_t train_step = 0;
  std::int64_t sequence = -1;  ///< number within its group; -1: not recorded
  std::int32_t group = -1;     ///< index into the rank's groups; -1: not recorded
  WorldRank peer;              ///< none: not recorded, or only peer_in_group is
  std::int32_t peer_in_group = -1;
  std::int64_t tag = 0;
  std::int64_t thread = 0;  ///< thread that carried out the call
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
  std::vector<NamedGroup> groups;  ///< groups of the rank, in the order of their creation
  std::vector<Call> calls;
  std::vector<Event> stages;  ///< other activities; times as in calls
  bool marks_steps = false;   ///< training steps are marked, so train_step is meaningful
  bool seen_late = false;     ///< begins and ends of calls are later than they were
  bool has_times = true;      ///< otherwise times are only an order of calls and stages
};

/// A job as its ranks' files describe it.
struct ProfiledJob {
  std::string format;  ///< tool that wrote the files, as in Imported::format
  std::string files;   ///< the files of that tool in a sentence: "dumps"
  std::vector<ProfiledRank> ranks;
  bool infers_world_size = false;     ///< no file states the number of ranks
  bool has_own_numbers = false;       ///< calls are numbered by the tool, not by PyTorch
  bool infers_members = false;        ///< some files do not list the members of groups
  bool is_aligned = false;            ///< times of ranks are those of one clock already
  std::vector<std::string> standing;  ///< where ranks stood when a dump was taken
  std::vector<std::string> lacks;     ///< information that these files lack, and what would supply
                                      ///< it
  std::vector<std::string> problems;  ///< damage that was left out
};

/// The numbers of matched collectives and messages, and of calls without the calls of other ranks.
struct Matched {
  std::int64_t collectives = 0, messages = 0;
  std::int64_t unmatched_collectives = 0, unmatched_messages = 0;
};

/// Throws inputError when no rank has a call or a stage. Its sentence is the first problem of the
/// job, or else names the first file, at `path`.
void requireContent(const ProfiledJob& job, const std::string& path);

/// Sorts the ranks. Throws inputError when they are not of one job. Two files of one job have
/// different ranks and the same world size. Groups of one name have the same members or none in
/// common. Times are at most a week apart.
void checkOneJob(ProfiledJob& job);

/// Says how many ranks have no file, and that times of several ranks are those of several clocks.
/// All ranks state one world size (checkOneJob).
void sayRanks(ProfiledJob& job);

/// Assigns a group to collectives whose group was not recorded, by the times of ranks that have
/// them. All calls of one thread get the
/// same group, because a thread of Gloo works for one group. The group is the largest of the rank's
/// groups in which every member made the same calls at the same time. When more than two threads
/// would work for one group, the later threads get a smaller one. Calls that match no group stay
/// without.
void tellGroups(ProfiledJob& job);

/// Gives the calls of one collective the same flow: calls of one group with the same number, or in
/// the same order when numbers are missing. When ranks made different numbers of calls, the calls
/// are matched per training step. When these numbers differ too, the calls stay unmatched. Appends
/// a sentence about each mismatch to `lacks`.
void matchCollectives(ProfiledJob& job, Matched& matched);

/// Reports whether a send and a receive may be one message: their sizes agree, and neither is
/// complete before the other was posted.
bool mayBeOne(const Call& send, const Call& receive);

/// Aligns the ranks' clocks as far as matched calls show that they differ. No member of a
/// collective ends it before all others have posted it, and no receive ends before its send was
/// posted. A rank whose calls contradict this is moved to an earlier time, by the least that
/// resolves it. The clocks of the ranks `fixed` stay as they are, so other ranks may move to a
/// later time too. Appends a sentence about each moved rank, about ranks without a matched call,
/// and about contradictions that no constant difference resolves, to `lacks`.
void alignClocks(ProfiledJob& job, const std::vector<WorldRank>& fixed = {});

/// Places the calls and stages of ranks whose files have no times, in their order. A matched call
/// begins when the call of another rank begins, and entries between two matched calls are spread
/// evenly. Without a rank that has times, the first rank's order begins at `start_ns`.
void placeUntimed(ProfiledJob& job, std::int64_t start_ns);

/// Finds the peer of messages of which only the peer's rank in an unknown group is recorded. The
/// peer is the rank that posted the other side at about the same time; calls with only one possible
/// peer are decided first. The group follows when the two ranks have only one such group in common.
void tellPeers(ProfiledJob& job);

/// Gives a send and its receive the same flow, after tellPeers(): by pair of ranks, group and tag,
/// in the order of posting, when mayBeOne() allows it. When one side posted more messages, they are
/// matched per training step. When these numbers differ too, the messages stay unmatched.
void matchMessages(ProfiledJob& job, Matched& matched);

/// Matches all calls and makes the recording: groups, events of calls and stages, notes. Run clock
/// 0 is `start_ns` of the wall clock, by default the earliest time.
std::shared_ptr<ChunkSource> makeSource(ProfiledJob job,
                                        std::optional<std::int64_t> start_ns = std::nullopt);

/// Returns the indices of the ranks of a group that have a file.
std::vector<std::size_t> presentMembers(const ProfiledJob& job, const NamedGroup& group);

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/mixed/recorded_ranks.h"

#include <algorithm>
#include <map>
#include <string>

namespace ringscope::traces {
namespace {

class CallLines {
 public:
  CallLines(const RankLines& lines, std::int64_t shift_ns) : lines_(lines), shift_ns_(shift_ns) {
    rank_.rank = lines.rank;
    rank_.world_size = lines.world_size;
    rank_.marks_steps = true;
    for (const auto& [name, members] : lines.groups) {
      groups_[name] = static_cast<std::int32_t>(std::ssize(rank_.groups));
      rank_.groups.push_back({name, members});
    }
  }

  ProfiledRank read() {
    std::map<std::int64_t, const Line*> calls;
    for (const Line& line : lines_.lines) {
      if (line.kind() == "collective") calls.try_emplace(line.whole("number"), &line);
      if (line.kind() == "waited") waited_[line.whole("number")] = line.whole("end_ns");
    }
    for (const auto& [number, line] : calls) addCall(number, *line);
    return std::move(rank_);
  }

 private:
  /// Adds a call. A functional collective calls one of c10d, and other tools record one of them.
  void addCall(std::int64_t number, const Line& line) {
    const std::int64_t begin = line.whole("begin_ns"), posted = line.whole("posted_ns");
    if (begin < 0 || posted < begin) return;
    const std::string name = line.text("operator");
    if (name == outer_ && posted <= outer_posted_ns_) return;
    outer_ = name;
    outer_posted_ns_ = posted;
    Call call;
    call.kind = name == "send"      ? EventKind::kSend
                : name == "receive" ? EventKind::kReceive
                                    : EventKind::kCollective;
    call.name = name;
    call.posted_ns = call.start_ns = begin + shift_ns_;
    const auto waited = waited_.find(number);
    call.completes = waited != waited_.end() && waited->second >= posted;
    call.end_ns = (call.completes ? waited->second : posted) + shift_ns_;
    call.bytes = line.whole("bytes");
    call.train_step = line.place(Direction::kForward).train_step;
    call.peer = line.rank("peer");
    if (const auto group = groups_.find(line.text("group")); group != groups_.end())
      call.group = group->second;
    rank_.calls.push_back(std::move(call));
  }

  const RankLines& lines_;
  std::int64_t shift_ns_;
  ProfiledRank rank_;
  std::map<std::string, std::int32_t> groups_;
  std::map<std::int64_t, std::int64_t> waited_;  ///< ends of waits, by number of the call
  std::string outer_;                            ///< name of the call that was added last
  std::int64_t outer_posted_ns_ = -1;
};

}  // namespace

std::vector<ProfiledRank> recordedRanks(const RecordedJob& job, std::int64_t start_ns) {
  std::vector<ProfiledRank> ranks;
  for (std::size_t file = 0; file < job.ranks.size(); ++file)
    ranks.push_back(CallLines(job.ranks[file], job.shifts[file] + start_ns).read());
  return ranks;
}

}  // namespace ringscope::traces

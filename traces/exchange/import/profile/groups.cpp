// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {
namespace {

/// The largest distance between the ends of a collective with a root: some ranks may finish before
/// others begin.
constexpr std::int64_t kRootedSlackNs = 1'000'000'000;
/// The number of threads per group that Gloo has in PyTorch by default.
constexpr std::size_t kThreadsOfGroup = 2;

bool isRooted(const Call& call) {
  return call.name == "broadcast" || call.name == "gather" || call.name == "scatter" ||
         call.name == "reduce";
}

/// Reports whether all ranks contribute the same number of bytes.
bool isEven(const Call& call) {
  return !isRooted(call) && call.name != "all_to_all";
}

/// A thread of a rank, which carries out the calls of one group.
struct Worker {
  std::size_t rank = 0;
  std::int64_t thread = 0;
  std::vector<Call*> calls;
  std::vector<std::int32_t> may_be;  ///< possible groups, as indices into the rank's groups,
                                     ///< largest first
};

class GroupTelling {
 public:
  explicit GroupTelling(ProfiledJob& job) : job_(job) {
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      if (!job.ranks[r].has_times) continue;
      std::map<std::int64_t, std::size_t> of_thread;
      for (Call& call : job.ranks[r].calls) {
        if (call.kind != EventKind::kCollective || call.group >= 0) continue;
        const auto [at, added] = of_thread.try_emplace(call.thread, workers_.size());
        if (added) workers_.push_back({r, call.thread, {}, groupsOf(job.ranks[r])});
        workers_[at->second].calls.push_back(&call);
      }
    }
  }

  void tell() {
    do {
      while (dropMisfits()) continue;
    } while (dropCrowded());
    for (const Worker& worker : workers_)
      if (!worker.may_be.empty())
        for (Call* call : worker.calls) call->group = worker.may_be.front();
  }

 private:
  /// A call and the thread that carried it out.
  struct Candidate {
    const Call* call = nullptr;
    const Worker* worker = nullptr;
  };
  struct Candidates {
    std::vector<Candidate> calls;  ///< in the order of posting
    std::int64_t longest_ns = 0;
  };
  using ByName = std::map<std::string, Candidates>;

  /// Removes groups from workers whose calls do not match. Returns false when all match.
  bool dropMisfits() {
    indexCalls();
    bool dropped = false;
    for (Worker& worker : workers_)
      dropped = std::erase_if(worker.may_be,
                              [&](std::int32_t group) { return !fits(worker, group); }) > 0 ||
                dropped;
    return dropped;
  }

  /// Removes a group from one worker that would be its third thread. A group has two threads, and
  /// groups that are made later have threads with larger numbers. Returns false when there is no
  /// such worker.
  bool dropCrowded() {
    for (std::size_t r = 0; r < job_.ranks.size(); ++r)
      for (std::int32_t group = 0; group < std::ssize(job_.ranks[r].groups); ++group) {
        std::vector<Worker*> of_group;
        for (Worker& worker : workers_)
          if (worker.rank == r && !worker.may_be.empty() && worker.may_be.front() == group)
            of_group.push_back(&worker);
        if (of_group.size() <= kThreadsOfGroup) continue;
        auto& last = *std::ranges::max(of_group, {}, [](Worker* worker) { return worker->thread; });
        if (last.may_be.size() < 2) continue;
        last.may_be.erase(last.may_be.begin());
        return true;
      }
    return false;
  }

  static std::vector<std::int32_t> groupsOf(const ProfiledRank& rank) {
    std::vector<std::int32_t> groups;
    for (std::int32_t g = 0; g < std::ssize(rank.groups); ++g)
      if (rank.groups[static_cast<std::size_t>(g)].members.size() > 1) groups.push_back(g);
    std::ranges::stable_sort(groups, std::ranges::greater{}, [&](std::int32_t g) {
      return rank.groups[static_cast<std::size_t>(g)].members.size();
    });
    return groups;
  }

  void indexCalls() {
    by_name_.assign(job_.ranks.size(), {});
    for (const Worker& worker : workers_)
      for (const Call* call : worker.calls) {
        Candidates& of_name = by_name_[worker.rank][call->name];
        of_name.calls.push_back({call, &worker});
        of_name.longest_ns = std::max(of_name.longest_ns, call->end_ns - call->posted_ns);
      }
    for (ByName& names : by_name_)
      for (auto& [name, of_name] : names) std::ranges::sort(of_name.calls, {}, postedOf);
  }

  static std::int64_t postedOf(const Candidate& candidate) { return candidate.call->posted_ns; }

  bool fits(const Worker& worker, std::int32_t group) const {
    const NamedGroup& of = job_.ranks[worker.rank].groups[static_cast<std::size_t>(group)];
    const auto members = presentMembers(job_, of);
    return std::ranges::all_of(worker.calls, [&](const Call* call) {
      return isCalledByAll(*call, worker.rank, of, members);
    });
  }

  /// Reports whether every other member made the same call, in a group that its thread may belong
  /// to, while this call lasted.
  bool isCalledByAll(const Call& call, std::size_t rank, const NamedGroup& group,
                     const std::vector<std::size_t>& members) const {
    return std::ranges::all_of(members, [&](std::size_t member) {
      return member == rank || isCalledBy(call, member, group);
    });
  }

  bool isCalledBy(const Call& call, std::size_t member, const NamedGroup& group) const {
    const auto found = by_name_[member].find(call.name);
    if (found == by_name_[member].end()) return false;
    const std::int64_t slack = isRooted(call) ? kRootedSlackNs : kClockSlackNs;
    const auto& calls = found->second.calls;
    for (auto at = std::ranges::lower_bound(
             calls, call.posted_ns - found->second.longest_ns - slack, {}, postedOf);
         at != calls.end() && at->call->posted_ns <= call.end_ns + slack; ++at) {
      const Call& other = *at->call;
      const bool same_size =
          !isEven(call) || call.bytes < 0 || other.bytes < 0 || call.bytes == other.bytes;
      if (same_size && other.end_ns + slack >= call.posted_ns && mayBe(*at->worker, group))
        return true;
    }
    return false;
  }

  bool mayBe(const Worker& worker, const NamedGroup& group) const {
    const ProfiledRank& rank = job_.ranks[worker.rank];
    return std::ranges::any_of(worker.may_be, [&](std::int32_t g) {
      return rank.groups[static_cast<std::size_t>(g)] == group;
    });
  }

  ProfiledJob& job_;
  std::vector<Worker> workers_;
  std::vector<ByName> by_name_;  ///< per rank
};

}  // namespace

void tellGroups(ProfiledJob& job) {
  GroupTelling(job).tell();
}

}  // namespace ringscope::traces

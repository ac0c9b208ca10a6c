// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "traces/exchange/import/kineto/rank_file.h"

namespace ringscope::traces {
namespace {

EventKind kindOf(std::string_view name) {
  return name == "send"   ? EventKind::kSend
         : name == "recv" ? EventKind::kReceive
                          : EventKind::kCollective;
}

/// The construction of the calls of one file.
class CallMaker {
 public:
  explicit CallMaker(RankFile& file) : file_(file) {}

  std::vector<Call> make() {
    std::ranges::stable_sort(file_.postings, {}, &Seen::begin_ns);
    std::ranges::stable_sort(file_.ranges, {}, &Seen::begin_ns);
    addComms();
    addRanges();
    return std::move(calls_);
  }

 private:
  Call callOf(const Seen& seen) const {
    Call call;
    call.kind = kindOf(seen.name);
    call.name = seen.name;
    call.posted_ns = call.start_ns = seen.begin_ns;
    call.end_ns = seen.end_ns;
    call.bytes = seen.bytes;
    call.sequence = seen.sequence;
    call.group = seen.group;
    call.peer = seen.peer;
    call.peer_in_group = seen.peer_in_group;
    call.tag = std::max<std::int64_t>(seen.tag, 0);
    call.thread = seen.thread;
    call.train_step = stepAt(file_, seen.begin_ns);
    call.direction = isInBackward(file_, seen.thread, seen.begin_ns) ? Direction::kBackward
                                                                     : Direction::kForward;
    return call;
  }

  /// Adds calls that were recorded with their group. A call ends with its kernel, which names the
  /// operator that started it.
  void addComms() {
    std::unordered_map<std::int64_t, const Seen*> kernels;
    kernels.reserve(file_.kernels.size());
    for (const Seen& kernel : file_.kernels)
      if (kernel.external >= 0) kernels.try_emplace(kernel.external, &kernel);
    calls_.reserve(file_.comms.size());
    std::map<std::int64_t, std::uint8_t> queues;
    for (const Seen& comm : file_.comms) {
      Call call = callOf(comm);
      const auto kernel = kernels.find(comm.external);
      if (comm.external >= 0 && kernel != kernels.end()) {
        call.start_ns = std::max(call.posted_ns, kernel->second->begin_ns);
        call.end_ns = std::max(call.start_ns, kernel->second->end_ns);
        call.completes = true;
        call.clock = Clock::kDevice;
        const auto queue = queues.try_emplace(kernel->second->thread,
                                              std::min<std::size_t>(queues.size() + 1, 255));
        call.queue = queue.first->second;
      }
      calls_.push_back(std::move(call));
    }
  }

  /// Adds calls of Gloo, which one thread posts and another thread carries out.
  void addRanges() {
    std::map<std::string_view, std::deque<const Seen*>> open;
    for (const Seen& range : file_.ranges) open[range.name].push_back(&range);
    const std::size_t parts = partsOfReduceScatter(open["all_reduce"].size());
    for (const Seen& posting : file_.postings) {
      const bool scatters = posting.name == "reduce_scatter";
      auto& ranges = open[scatters ? "all_reduce" : posting.name];
      const auto taken = take(ranges, posting, scatters ? parts : 1);
      if (taken.empty() && !file_.comms.empty())
        continue;  // the same call is recorded with its
                   // group
      Call call = callOf(posting);
      if (!taken.empty()) finish(call, taken);
      calls_.push_back(std::move(call));
    }
    for (const auto& [name, ranges] : open)
      for (const Seen* range : ranges) {
        Call call = callOf(*range);
        finish(call, {range});
        calls_.push_back(std::move(call));
      }
  }

  static void finish(Call& call, const std::vector<const Seen*>& ranges) {
    call.start_ns = std::max(call.posted_ns, ranges.front()->begin_ns);
    call.end_ns = call.start_ns;
    call.bytes = 0;
    call.completes = true;
    call.thread = ranges.front()->thread;
    for (const Seen* range : ranges) {
      call.end_ns = std::max(call.end_ns, range->end_ns);
      call.bytes = call.bytes < 0 || range->bytes < 0 ? -1 : call.bytes + range->bytes;
    }
  }

  /// Returns the number of all-reduces by which Gloo implements one reduce-scatter: one per rank of
  /// the group; 0 when the numbers do not match.
  std::size_t partsOfReduceScatter(std::size_t all_reduces) const {
    const auto count = [&](const char* name) {
      return static_cast<std::size_t>(std::ranges::count(file_.postings, name, &Seen::name));
    };
    const std::size_t scatters = count("reduce_scatter"), others = count("all_reduce");
    if (scatters == 0 || all_reduces <= others || (all_reduces - others) % scatters != 0) return 0;
    return (all_reduces - others) / scatters;
  }

  /// Removes and returns the first `count` ranges that began after the posting.
  static std::vector<const Seen*> take(std::deque<const Seen*>& ranges, const Seen& posting,
                                       std::size_t count) {
    std::vector<const Seen*> taken;
    while (taken.size() < count) {
      const auto next = std::ranges::find_if(
          ranges, [&](const Seen* range) { return range->begin_ns >= posting.begin_ns; });
      if (next == ranges.end()) break;
      taken.push_back(*next);
      ranges.erase(next);
    }
    return taken;
  }

  RankFile& file_;
  std::vector<Call> calls_;
};

}  // namespace

std::int32_t stepAt(const RankFile& file, std::int64_t ns) {
  if (file.steps.empty()) return 0;
  const auto after =
      std::ranges::upper_bound(file.steps, ns, {}, [](const auto& step) { return step.first; });
  return after == file.steps.begin() ? after->second : std::prev(after)->second;
}

bool isInBackward(const RankFile& file, std::int64_t thread, std::int64_t ns) {
  const auto found = file.backward.find(thread);
  if (found == file.backward.end()) return false;
  const auto after = std::ranges::upper_bound(found->second, ns, {}, &Evaluated::begin_ns);
  return after != found->second.begin() && std::prev(after)->end_ns >= ns;
}

ProfiledRank profiledRank(RankFile file) {
  std::ranges::sort(file.steps);
  for (auto& [thread, evaluated] : file.backward)
    std::ranges::sort(evaluated, {}, &Evaluated::begin_ns);
  ProfiledRank rank;
  rank.rank = file.rank;
  rank.world_size = file.world_size;
  rank.file = file.path;
  rank.marks_steps = !file.steps.empty();
  rank.stages = findStages(file);
  rank.calls = CallMaker(file).make();
  rank.groups = std::move(file.groups);
  const std::int64_t base = file.head.base_ns.value_or(0);
  for (Call& call : rank.calls)
    for (std::int64_t* ns : {&call.posted_ns, &call.start_ns, &call.end_ns}) *ns += base;
  for (Event& stage : rank.stages)
    for (std::int64_t* ns : {&stage.begin_ns, &stage.start_ns, &stage.end_ns}) *ns += base;
  return rank;
}

}  // namespace ringscope::traces

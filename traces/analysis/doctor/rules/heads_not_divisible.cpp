// SPDX-License-Identifier: Apache-2.0
// The ranks of a Ulysses group must attend all query heads of their tp rank, each of them once.
#include <algorithm>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {
namespace {

struct Heads {
  std::int64_t begin = 0, end = 0;
};

/// The query heads of a rank's part of the model; nothing where it is not known.
std::optional<Heads> headsOfModel(const Trace& trace, WorldRank rank) {
  const RunSpec* run = trace.run();
  if (!run || run->model.heads < 1) return std::nullopt;
  if (run->tp == 1) return Heads{0, run->model.heads};
  const GroupRecord* group = trace.groupOf(rank, GroupAxis::kTp);
  if (!group || std::ssize(group->members) != run->tp || run->model.heads % run->tp != 0)
    return std::nullopt;
  const std::int64_t each = run->model.heads / run->tp;
  const auto seat = std::ranges::find(group->members, rank) - group->members.begin();
  return Heads{seat * each, (seat + 1) * each};
}

/// Of the ranks that share heads with one of them; nothing where not all of them are recorded.
std::optional<std::vector<Heads>> headsOfMembers(const Trace& trace, const ScheduleRecord& one) {
  std::vector<Heads> all;
  for (const WorldRank member : one.ulysses) {
    const ScheduleRecord* schedule = trace.schedule(one.train_step, member, one.direction);
    if (!schedule) return std::nullopt;
    all.push_back({schedule->q_head_begin, schedule->q_head_end});
  }
  std::ranges::sort(all, {}, &Heads::begin);
  return all;
}

/// "head 3 is attended by none", "heads 4 to 5 are attended by several".
std::string describe(std::int64_t begin, std::int64_t end, const char* by) {
  const bool one = end - begin == 1;
  return (one ? "head " + std::to_string(begin) + " is"
              : "heads " + std::to_string(begin) + " to " + std::to_string(end - 1) + " are") +
         " attended by " + by;
}

/// The first heads that nobody attends, or several do; empty where there are none.
std::string wrongHeads(const std::vector<Heads>& attended, const Heads& model) {
  std::int64_t next = model.begin;
  for (const Heads& heads : attended) {
    if (heads.begin > next) return describe(next, heads.begin, "none");
    if (heads.begin < next && heads.end > heads.begin)
      return describe(heads.begin, std::min(heads.end, next), "several");
    next = std::max(next, heads.end);
  }
  return next < model.end ? describe(next, model.end, "none") : "";
}

Finding finding(const ScheduleRecord& one, const Heads& model, const std::string& wrong) {
  Finding f;
  f.rule = "heads_not_divisible";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Query heads do not divide among the ranks that share them";
  f.place = {one.train_step, Layer::none(), one.direction, {}};
  f.rank = one.rank;
  f.evidence = std::to_string(model.end - model.begin) + " query heads are shared by " +
               std::to_string(one.ulysses.size()) + " ranks, of which rank " + toString(one.rank) +
               " attends " + std::to_string(one.q_head_end - one.q_head_begin) + "; " + wrong + ".";
  f.remedy =
      "Let a number of ranks share heads that divides the query heads (sequence_parallel_size, "
      "ulysses_degree), and have a ring among the others; or cut heads unevenly on purpose, with "
      "the sizes given to the all-to-all.";
  return f;
}

}  // namespace

RuleResult checkHeadsNotDivisible(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  std::string lacks = "needs which heads each rank attends";
  for (const ScheduleRecord& schedule : trace.schedules()) {
    if (schedule.ulysses.size() < 2) {
      compared = true;
      continue;
    }
    const auto model = headsOfModel(trace, schedule.rank);
    const auto attended = headsOfMembers(trace, schedule);
    if (!model || !attended) {
      lacks = model ? "needs the heads of all ranks that share them; join the files of all ranks "
                      "with ringscope merge"
                    : "needs how many heads the model has";
      continue;
    }
    compared = true;
    const std::string wrong = wrongHeads(*attended, *model);
    if (!wrong.empty()) return found(finding(schedule, *model, wrong));
  }
  return compared ? clear() : notObservable(lacks);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Heads: which rank attends which query heads with which KV heads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "traces/analysis/doctor/few_keys.h"
#include "traces/analysis/doctor/repeated_heads.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// heads_not_divisible: the ranks of a Ulysses group attend all query heads of their tp rank, each
// of them once.
namespace {

struct Heads {
  std::int64_t begin = 0, end = 0;
};

/// Returns the query heads of a rank's part of the model; nullopt when they are not known.
std::optional<Heads> headsOfModel(const Trace& trace, WorldRank rank) {
  const RunSpec* run = trace.run();
  if (!run || run->model.heads < 1) return std::nullopt;
  if (run->tp == 1) return Heads{0, run->model.heads};
  const GroupRecord* group = trace.groupContaining(rank, GroupAxis::kTp);
  if (!group || std::ssize(group->members) != run->tp || run->model.heads % run->tp != 0)
    return std::nullopt;
  const std::int64_t each = run->model.heads / run->tp;
  const auto seat = std::ranges::find(group->members, rank) - group->members.begin();
  return Heads{seat * each, (seat + 1) * each};
}

/// Returns the heads of each rank of a Ulysses group; nullopt when not all of them are recorded.
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

/// Describes the first heads that no rank or several ranks attend; empty when there are none.
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

Finding headsNotDivisibleFinding(const ScheduleRecord& one, const Heads& model,
                                 const std::string& wrong) {
  return {.title = "Query heads do not divide among the ranks that share them",
          .place = {one.train_step, Layer::none(), one.direction, {}},
          .rank = one.rank,
          .evidence = std::to_string(model.end - model.begin) + " query heads are shared by " +
                      std::to_string(one.ulysses.size()) + " ranks, of which rank " +
                      toString(one.rank) + " attends " +
                      std::to_string(one.q_head_end - one.q_head_begin) + "; " + wrong + ".",
          .remedy =
              "Let a number of ranks share heads that divides the query heads "
              "(sequence_parallel_size, ulysses_degree), and have a ring among the others; or cut "
              "heads unevenly on purpose, with the sizes given to the all-to-all."};
}

}  // namespace

RuleResult checkHeadsNotDivisible(const Trace& trace) {
  if (const auto answer = answerWithoutCp(trace)) return *answer;
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
    if (!wrong.empty()) return found(headsNotDivisibleFinding(schedule, *model, wrong));
  }
  return compared ? clear() : notObservable(lacks);
}

// gqa_group_broken: the recorded lse of some rows is the one that q gives with the keys of a KV
// head of another group.
namespace {

/// Multiply-adds for one layer; a few rows and heads tell.
constexpr double kGroupWork = 4e6;
constexpr std::size_t kManyRows = 24, kFewRows = 6;
constexpr std::int64_t kMostHeads = 8;

enum class HeadIs { kUnlike, kOfItsGroup, kOfAnother, kUndecided };

/// One query head.
struct HeadReading {
  HeadIs is = HeadIs::kUndecided;
  std::int64_t head = 0, group = 0, other = 0;  ///< other: the KV head that fits best besides
  double off = 0, off_other = 0;                ///< root mean square
  std::size_t rows = 0;
};

/// The squared distances of the lse of some rows, and the squared tolerances.
struct Distance {
  double squares = 0, room = 0;
  bool within() const { return squares <= room; }
};

/// Compares the heads of one layer of one group.
class LayerReader {
 public:
  LayerReader(const Trace& trace, const LayerTensors& layer, const AttentionMask& mask)
      : trace_(trace), layer_(layer), heads_(std::min(layer.kv_heads, kMostHeads)) {
    for (std::size_t rows = kManyRows;; rows /= 2) {
      rows_ = rowsWithFewKeys(layer, mask, layer.tokens.size(), rows);
      if (rows <= kFewRows || work() <= kGroupWork) break;
    }
    while (heads_ > 2 && work() > kGroupWork) --heads_;
    for (const RowKeys& row : rows_) selection_.rows.push_back(row.row);
    const DType dtype = layer.tensors.at(TensorKind::kQ).front().record->dtype;
    tolerance_ = isNarrow(dtype) ? 1e-3 : 1e-4;
    if (const auto sinks = layer.sinks ? trace.values(*layer.sinks) : std::nullopt) sinks_ = *sinks;
  }

  std::vector<HeadReading> read() {
    std::vector<HeadReading> all;
    if (rows_.empty()) return all;
    for (std::int64_t kv = 0; kv < heads_; ++kv)
      k_.push_back(layer_.values(trace_, TensorKind::kK, {{{0, kv}}, {}}).values);
    for (std::int64_t kv = 0; kv < heads_; ++kv) {
      selection_.groups = {{0, kv}};
      const auto q = layer_.values(trace_, TensorKind::kQ, selection_).values,
                 lse = layer_.values(trace_, TensorKind::kLse, selection_).values;
      for (std::int64_t h = 0; h < layer_.groupSize(); ++h) all.push_back(readHead(kv, h, q, lse));
    }
    return all;
  }

 private:
  double work() const {
    double keys = 0;
    for (const RowKeys& row : rows_) keys += static_cast<double>(row.keys.size());
    return keys * static_cast<double>(heads_ * heads_ * layer_.groupSize() * layer_.head_dim);
  }

  HeadReading readHead(std::int64_t group, std::int64_t h, const std::vector<double>& q,
                       const std::vector<double>& lse) const {
    constexpr double kMuch = 16;  // four times, in squares
    HeadReading reading;
    reading.head = group * layer_.groupSize() + h;
    reading.group = group;
    reading.rows = rows_.size();
    const auto width = static_cast<std::size_t>(layer_.head_dim),
               first = static_cast<std::size_t>(h) * rows_.size();
    Distance own, best{std::numeric_limits<double>::infinity(), 0};
    for (std::int64_t kv = 0; kv < heads_; ++kv) {
      const Distance d = distance(kv, reading.head, q.data() + first * width, lse.data() + first);
      if (kv == group) {
        own = d;
      } else if (d.squares < best.squares) {
        best = d;
        reading.other = kv;
      }
    }
    const auto rows = static_cast<double>(rows_.size());
    reading.off = std::sqrt(own.squares / rows);
    reading.off_other = std::sqrt(best.squares / rows);
    if (!std::isfinite(own.squares) || (!own.within() && !best.within()))
      reading.is = HeadIs::kUnlike;
    else if (own.within() && best.squares > kMuch * own.squares)
      reading.is = HeadIs::kOfItsGroup;
    else if (best.within() && own.squares > kMuch * best.squares)
      reading.is = HeadIs::kOfAnother;
    return reading;
  }

  /// Compares the recorded lse with the one that the keys of a KV head give.
  Distance distance(std::int64_t kv, std::int64_t head, const double* q, const double* lse) const {
    Distance d;
    const auto width = static_cast<std::size_t>(layer_.head_dim);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto scores =
          computeScores(layer_, q + i * width, k_[static_cast<std::size_t>(kv)], rows_[i].keys);
      if (!sinks_.empty()) scores.push_back(sinks_.at(static_cast<std::size_t>(head)));
      const double exact = logSumExp(scores), off = lse[i] - exact,
                   room = tolerance_ * (1 + std::abs(exact));
      d.squares += off * off;
      d.room += room * room;
    }
    return d;
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  std::int64_t heads_;
  std::vector<RowKeys> rows_;
  Selection selection_;
  std::vector<std::vector<double>> k_;
  std::vector<double> sinks_;
  double tolerance_ = 0;
};

Finding gqaGroupBrokenFinding(const LayerPass& pass, const HeadReading& first, std::int64_t wrong,
                              std::size_t heads) {
  return {.title = "Query heads attend the KV heads of other groups",
          .place = {pass.train_step, pass.layer, Direction::kForward, {}},
          .buffer = "lse",
          .evidence = "Over " + describeCount(static_cast<std::int64_t>(first.rows), "row") +
                      " the lse of query head " + std::to_string(first.head) +
                      " is that of the keys of KV head " + std::to_string(first.other) +
                      " within " + describeSignificant(first.off_other, 2) +
                      "; from that of KV head " + std::to_string(first.group) +
                      ", whose group it is in, it is off by " + describeSignificant(first.off, 2) +
                      ". So it is with " + std::to_string(wrong) + " of " + std::to_string(heads) +
                      " query heads.",
          .remedy =
              "Query head h belongs to KV head h / (query heads / KV heads) of the whole model: "
              "after the all-to-all give each rank the KV heads of its own query heads, in their "
              "order, and repeat KV heads one by one (repeat_interleave), not as a block."};
}

bool hasOneHead(const Trace& trace) {
  return trace.run() && trace.run()->model.kv_heads == 1;
}

}  // namespace

RuleResult checkGqaGroupBroken(const Trace& trace) {
  if (hasOneHead(trace)) return clear();
  bool right = false, close = false;
  std::optional<LayerPass> unlike;
  for (const LayerPass& pass : recordedLayers(trace).with_values)
    for (const auto& members : sequenceGroups(trace, {pass.train_step, pass.microbatch})) {
      if (members.empty()) continue;
      const LayerTensors layer = findLayer(trace, pass, members);
      const IntentRecord* intent =
          trace.intent(pass.train_step, members.front(), pass.layer, pass.microbatch);
      if (!layer.blocking.empty() || !layer.complete(TensorKind::kK)) continue;
      if (isForeign(trace))
        if (auto tiled = findTiledHeads(trace, layer)) return found(std::move(*tiled));
      if (!intent || !layer.complete(TensorKind::kLse)) continue;
      if (layer.kv_heads == 1) {
        right = true;
        continue;
      }
      const auto heads = LayerReader(trace, layer, AttentionMask::of(*intent)).read();
      const auto wrong = std::ranges::find(heads, HeadIs::kOfAnother, &HeadReading::is);
      if (wrong != heads.end())
        return found(gqaGroupBrokenFinding(
            pass, *wrong, std::ranges::count(heads, HeadIs::kOfAnother, &HeadReading::is),
            heads.size()));
      for (const HeadReading& head : heads) {
        right = right || head.is == HeadIs::kOfItsGroup;
        close = close || head.is == HeadIs::kUndecided;
        if (head.is == HeadIs::kUnlike && !unlike) unlike = pass;
      }
    }
  if (unlike)
    return undecided("needs an lse that q gives with the keys of one KV head; that of step " +
                     std::to_string(unlike->train_step) + " › layer " + toString(unlike->layer) +
                     " is of none");
  if (right) return clear();
  if (close) return undecided("needs KV heads that differ by more than rounding");
  return notObservable("needs q, k and lse of one layer");
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/merge/merge_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/rows.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/chunks.h"
#include "viz/scene/groups.h"
#include "viz/scene/stage_window.h"
#include "viz/scene/token_rows.h"
#include "viz/scene/why_empty.h"

namespace ringscope::viz {

using traces::Event;
using traces::Rows;
using traces::ScheduleRecord;
using traces::StageRecord;
using traces::TensorKind;
using traces::Trace;

namespace {

constexpr double kNoKey = -std::numeric_limits<double>::infinity();

/// The logarithm of the sum of two exponentials.
double addedLse(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const double m = std::max(a, b);
  return m == kNoKey ? m : m + std::log(std::exp(a - m) + std::exp(b - m));
}

/// Merges block after block in fp64, by their weights in the recorded result and by adding them.
struct Accumulator {
  double final_lse = 0, lse = kNoKey, largest = 0;
  std::vector<double> weighted, sum;

  void add(std::span<const double> block_out, double block_lse) {
    if (block_lse == kNoKey) return;  // no key for this row
    lse = addedLse(lse, block_lse);
    const double weight = std::exp(block_lse - final_lse);
    for (std::size_t d = 0; d < block_out.size(); ++d) {
      weighted[d] += weight * block_out[d];
      sum[d] += block_out[d];
      largest = std::max(largest, std::abs(block_out[d]));
    }
  }
  /// The first element of the running result, whose weights add up to 1.
  double running() const {
    return lse == kNoKey ? 0 : weighted.front() * std::exp(final_lse - lse);
  }
};

double largestError(const std::vector<double>& values, std::span<const double> recorded) {
  double largest = 0;
  for (std::size_t d = 0; d < values.size(); ++d)
    largest = std::max(largest, std::abs(values[d] - recorded[d]));
  return largest;
}

/// Half the distance from 1 to the next number of a type.
double unitRoundoff(traces::DType dtype) {
  switch (dtype) {
    case traces::DType::kBFloat16:
      return std::ldexp(1, -9);
    case traces::DType::kFloat16:
      return std::ldexp(1, -11);
    default:
      return std::ldexp(1, -24);
  }
}

/// The rank that attends a row, with the head and the row in its own numbering.
struct Attender {
  WorldRank rank;
  const ScheduleRecord* schedule = nullptr;
  std::int64_t head = 0, row = 0;
};

/// Returns the rank that attends `head`, among the ranks that share heads with the owner. Heads
/// count from the first head of these ranks.
Attender attenderOf(const GroupPass& pass, WorldRank owner, std::int64_t head, TokenIndex token) {
  std::vector<WorldRank> sharers = pass.schedule(owner)->ulysses;
  if (sharers.empty()) sharers = {owner};
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const WorldRank rank : sharers)
    if (const auto* schedule = pass.schedule(rank)) first = std::min(first, schedule->q_head_begin);
  for (const WorldRank rank : sharers) {
    const ScheduleRecord* schedule = pass.schedule(rank);
    if (!schedule) continue;
    const std::int64_t local = first + head - schedule->q_head_begin;
    if (local >= 0 && local < headsFor(*schedule))
      return {rank, schedule, local, pass.localRow(rank, token)};
  }
  return {};
}

/// Each costs reading it.
constexpr int kMostBlocks = 1024;

/// Goes through the stages of one row.
class Historian {
 public:
  Historian(const Trace& trace, const Place& pass, const Attender& attender, Accumulator& all)
      : trace_(trace), place_(pass), attender_(attender), all_(all) {}

  MergeStep step(const StageRecord& stage) {
    place_.stage = stage.ring_step;
    MergeStep step;
    step.ring_step = stage.ring_step;
    step.source_rank = stage.source_rank;
    step.block_lse = kNoKey;
    for (const Event& event : trace_.eventsAt(place_, attender_.rank)) {
      if (event.kind == traces::EventKind::kAttend && event.source_rank == stage.source_rank)
        take(event, step);
    }
    step.attended = step.block_lse != kNoKey;
    if (!step.attended)
      step.words = stage.why_empty != traces::WhyEmpty::kAttends ? emptyWords(stage.why_empty).brief
                                                                 : "no key of it is for this row";
    if (step.attended) step.weight = std::exp(step.block_lse - all_.final_lse);
    step.running_lse = all_.lse;
    step.running_out = all_.running();
    return step;
  }

  /// A block that holds the row was not kept.
  bool missing() const { return missing_; }
  /// The row is said to be in more blocks than any run has; the rest is not looked at.
  bool tooMany() const { return blocks_ > kMostBlocks; }

 private:
  void take(const Event& event, MergeStep& step) {
    if (attender_.row < event.q_begin || attender_.row >= event.q_end) return;
    if (++blocks_ > kMostBlocks) return;
    traces::TensorKey key{
        {TensorKind::kBlockOut}, place_,     event.microbatch, event.pass, event.rank,
        event.source_rank,       event.piece};
    const auto block_out = Rows::vectors(trace_, trace_.findTensor(key));
    key.tensor.kind = TensorKind::kBlockLse;
    const auto block_lse = Rows::scalars(trace_, trace_.findTensor(key));
    const std::int64_t row = attender_.row - event.q_begin;
    if (!block_out || !block_lse || !block_lse->matches(*block_out) ||
        static_cast<std::size_t>(block_out->width()) != all_.weighted.size() ||
        !block_lse->holds(attender_.head, row)) {
      missing_ = true;
      return;
    }
    const double lse = block_lse->row(0, attender_.head, row)[0];
    const auto out = block_out->row(0, attender_.head, row);
    if (lse != kNoKey) {  // pieces of one block are merged as blocks are
      const double both = addedLse(step.block_lse, lse);
      step.block_out =
          step.block_out * std::exp(step.block_lse - both) + out.front() * std::exp(lse - both);
      step.block_lse = both;
    }
    all_.add(out, lse);
  }

  const Trace& trace_;
  Place place_;
  const Attender& attender_;
  Accumulator& all_;
  bool missing_ = false;
  int blocks_ = 0;
};

MergeHistory without(std::string why) {
  MergeHistory history;
  history.missing = std::move(why);
  return history;
}

std::string notKept(const Trace& trace, const Place& pass) {
  return "Not recorded; " + traces::valuesAdvice(trace, pass.train_step, "would show it") + ".";
}

}  // namespace

MergeHistory mergeHistory(const Trace& trace, const Place& viewed,
                          const std::vector<WorldRank>& group, WorldRank rank, std::int64_t head,
                          std::int64_t query) {
  const Place pass{viewed.train_step, viewed.layer, traces::Direction::kForward, RingStep::none()};
  const auto* out_record = trace.findTensor({TensorKind::kOut}, pass, rank);
  const auto out = Rows::vectors(trace, out_record);
  const auto lse = Rows::scalars(trace, trace.findTensor({TensorKind::kLse}, pass, rank));
  if (!out || !lse || !lse->matches(*out) || !out->holds(head, query))
    return without(notKept(trace, pass));
  const GroupPass scheduled(trace, pass, group);
  if (!scheduled.schedule(rank)) return without("Not shown: " + noSchedule(trace) + ".");
  const TokenIndex token = tokenAtRow(trace, pass.train_step, rank, query);
  const Attender attender = attenderOf(scheduled, rank, head, token);
  if (!attender.schedule || attender.row < 0)
    return without("Not recorded: which rank attends this row; " +
                   traces::captureAdvice(trace, "stats", "would show it") + ".");
  MergeHistory history;
  const auto recorded = out->row(0, head, query);
  history.attending = attender.rank;
  history.lse = lse->row(0, head, query)[0];
  history.out = recorded[0];
  Accumulator all;
  all.final_lse = history.lse;
  all.weighted.resize(recorded.size());
  all.sum.resize(recorded.size());
  Historian historian(trace, pass, attender, all);
  for (const StageRecord& stage : attender.schedule->stages)
    history.steps.push_back(historian.step(stage));
  if (historian.tooMany())
    return without("Not shown: the row is said to be in more than " + std::to_string(kMostBlocks) +
                   " blocks.");
  if (historian.missing()) return without(notKept(trace, pass));
  history.merged = all.weighted.front();
  history.naive = all.sum.front();
  history.largest_error_merged = largestError(all.weighted, recorded);
  history.largest_error_naive = largestError(all.sum, recorded);
  // Results are rounded to their type; the merges before that are of single precision at least.
  const double merging = std::ldexp(static_cast<double>(history.steps.size() + 8), -20);
  history.rounding = (2 * unitRoundoff(out_record->dtype) + merging) * all.largest;
  return history;
}

bool MergeScene::isUnderWay() const {
  return std::ranges::any_of(history.steps,
                             [this](const MergeStep& step) { return isToCome(step); });
}

double MergeScene::weightSoFar(const MergeStep& step) const {
  const auto last = lastMerged();
  if (!isUnderWay() || !last) return step.weight;
  return std::exp(step.block_lse - history.steps[*last].running_lse);
}

std::optional<std::size_t> MergeScene::lastMerged() const {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < history.steps.size(); ++i)
    if (history.steps[i].attended && !isToCome(history.steps[i])) last = i;
  return last;
}

MergeStep MergeScene::before(std::size_t step) const {
  MergeStep none;
  none.running_lse = kNoKey;
  return step == 0 ? none : history.steps.at(step - 1);
}

MergeScene makeMergeScene(const Trace& trace, const Cursor& cursor, MergeRow row) {
  MergeScene scene;
  scene.sealed = cursor.sealed;
  if (trace.moments().empty()) {
    scene.note = "No ring step is recorded.";
    return scene;
  }
  scene.rank = cursor.rank;
  scene.layer = cursor.place.layer;
  Place pass = cursor.place;
  pass.direction = traces::Direction::kForward;
  pass.stage = RingStep::none();
  if (const auto at = findTokenRow(trace, pass.train_step, cursor.rank, cursor.token))
    row.query = *at;
  const auto* lse = trace.findTensor({TensorKind::kLse}, pass, cursor.rank);
  if (lse && lse->shape.size() == 3) {
    const std::int64_t last = std::max<std::int64_t>(0, lse->shape[2] - 1);
    row.head = std::clamp<std::int64_t>(row.head, 0, std::max<std::int64_t>(0, lse->shape[1] - 1));
    row.query = std::clamp<std::int64_t>(row.query < 0 ? last : row.query, 0, last);
  }
  const auto group = groupRanks(trace, cursor.group);
  scene.row = row;
  scene.token = tokenAtRow(trace, pass.train_step, cursor.rank, row.query);
  scene.ring_steps = countRingSteps(trace, cursor.place, group);
  const bool forward = cursor.place.direction == traces::Direction::kForward;
  scene.has_sink = trace.findTensor({TensorKind::kSinks}, pass, cursor.rank) != nullptr;
  scene.now = forward ? cursor.place.stage : RingStep::none();
  scene.history = mergeHistory(trace, pass, group, cursor.rank, row.head, row.query);
  scene.note = scene.history.missing;
  return scene;
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/place_rows_scene.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/compare/report.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

using traces::Cost;
using traces::CostPair;
using traces::RunComparison;
using traces::TensorDifference;

std::string nameFor(const TensorDifference& d) {
  if (d.tensor == "grad_norm") return "gradient norm";
  if (d.tensor.starts_with("buffer.")) return "shard: " + d.tensor.substr(7);
  for (const char* prefix : {"grad.", "weight."})
    if (d.tensor.starts_with(prefix)) return d.tensor.substr(std::string(prefix).size());
  return d.tensor;
}

std::string sizeWords(const TensorDifference& d) {
  if (d.differing == 0)
    return d.by == traces::ComparedBy::kStatistics ? "same statistics" : "identical";
  if (traces::areNames(d)) return traces::describeCount(d.differing) + " tokens";
  return (d.differs() ? "" : "≈ ") + traces::describeSignificant(d.worst, 2);
}

/// From what float32 rounds, 1e-8, to all of a tensor's size.
double barOf(double worst) {
  constexpr double kDecades = 8;
  if (!std::isfinite(worst)) return 1;
  if (worst <= 0) return 0;
  return std::clamp((std::log10(worst) + kDecades) / kDecades, 0.02, 1.0);
}

PlaceRow rowFor(const TensorDifference& d) {
  PlaceRow row;
  row.name = nameFor(d);
  row.agreement = d.agreement();
  row.size = sizeWords(d);
  row.bar = d.differing == 0 ? 0 : barOf(d.worst);
  row.where =
      traces::areNames(d) && d.differing > 0 ? traces::describeWhere(d) : traces::describeExtent(d);
  row.sentence = traces::describeFully(d);
  row.place = d.place;
  row.tensor = d.tensor;
  row.rank = d.rank;
  return row;
}

/// A place with its tensors, as they come.
class Heads {
 public:
  Heads(const RunComparison& comparison, const std::set<std::string>& turned)
      : comparison_(comparison),
        first_(comparison.first()),
        steepest_(comparison.steepest()),
        turned_(turned) {}

  void add(const TensorDifference& d) {
    const std::string head = tensorHead(d);
    if (head != head_ || head.empty()) close();
    head_ = head;
    rows_.push_back(rowFor(d));
    rows_.back().first = &d == first_;
    rows_.back().steepest = &d == steepest_;
    worst_ = std::max(worst_, std::isnan(d.worst) ? INFINITY : d.worst);
  }
  std::vector<PlaceRow> finish() {
    close();
    return std::move(all_);
  }

 private:
  void close() {
    if (rows_.empty()) return;
    if (head_.empty()) {
      all_.push_back(rows_.front());
      all_.back().alone = true;
    } else {
      PlaceRow head = headRow();
      const bool open = head.open;
      all_.push_back(std::move(head));
      if (open) std::ranges::move(rows_, std::back_inserter(all_));
    }
    rows_.clear();
    worst_ = 0;
  }
  PlaceRow headRow() const {
    const auto worst = std::ranges::max_element(rows_, {}, &PlaceRow::agreement);
    const auto differing = std::ranges::count_if(
        rows_, [](const PlaceRow& row) { return row.agreement >= Agreement::kUnknown; });
    PlaceRow head;
    head.name = head_;
    head.heads = true;
    head.agreement = worst->agreement;
    head.place = worst->place;
    head.tensor = worst->tensor;
    head.rank = worst->rank;
    head.open = std::ranges::any_of(rows_, [](const PlaceRow& row) {
                  return row.first || row.steepest;
                }) != turned_.contains(head_);
    const bool same = head.agreement == Agreement::kSame;
    head.bar = same ? 0 : barOf(worst_);
    head.size = same ? "identical" : traces::describeSignificant(worst_, 2);
    head.where = traces::describeCount(differing) + " of " +
                 traces::describeCount(std::ssize(rows_)) +
                 (differing == 1 ? " differs" : " differ");
    head.sentence = head.name + ": " + head.where;
    addCosts(head);
    return head;
  }
  void addCosts(PlaceRow& head) const {
    const CostPair* found = comparison_.costsAt(head.place);
    if (!head.place.layer.exists() || !found) return;
    const auto words = [](const traces::Costs& of, Cost cost) {
      return of[cost] ? describe(cost, *of[cost]) : std::string("–");
    };
    head.attends = words(found->run, Cost::kAttend);
    head.other_attends = words(found->other, Cost::kAttend);
    head.sent = words(found->run, Cost::kSent);
    head.other_sent = words(found->other, Cost::kSent);
  }

  const RunComparison& comparison_;
  const TensorDifference *first_, *steepest_;
  const std::set<std::string>& turned_;
  std::string head_;
  double worst_ = 0;
  std::vector<PlaceRow> rows_, all_;
};

}  // namespace

std::string tensorHead(const TensorDifference& d) {
  if (d.place.layer.exists())
    return "layer " + toString(d.place.layer) + " · " + name(d.place.direction);
  if (d.tensor == "loss" || d.tensor == "grad_norm") return "";
  if (d.tensor.starts_with("grad.")) return "gradients after sync";
  if (d.tensor.starts_with("weight.")) return "weights";
  return d.tensor == "logits" || d.tensor.starts_with("batch.") ? "after the layers" : "inputs";
}

std::vector<PlaceRow> placeRows(const RunComparison& comparison, std::int32_t train_step,
                                const std::set<std::string>& turned) {
  Heads heads(comparison, turned);
  const auto step_of = [](const TensorDifference& d) { return d.place.train_step; };
  auto at = std::ranges::lower_bound(comparison.all, train_step, {}, step_of);
  for (; at != comparison.all.end() && step_of(*at) == train_step; ++at) heads.add(*at);
  return heads.finish();
}

const TensorDifference* differenceAfter(const RunComparison& comparison, std::int32_t train_step,
                                        const PlaceRow* row) {
  const auto& all = comparison.all;
  const auto from =
      row ? std::ranges::find_if(all,
                                 [&](const TensorDifference& d) {
                                   return d.place == row->place && d.tensor == row->tensor;
                                 })
          : all.end();
  if (from != all.end())
    if (const auto next = std::find_if(from + (row->heads ? 0 : 1), all.end(),
                                       std::mem_fn(&TensorDifference::differs));
        next != all.end())
      return &*next;
  if (row) return comparison.first();
  const auto next = std::ranges::find_if(all, [&](const TensorDifference& d) {
    return d.place.train_step >= train_step && d.differs();
  });
  return next == all.end() ? comparison.first() : &*next;
}

Cursor cursorAt(const Place& place, const std::string& tensor, WorldRank rank, Cursor cursor) {
  cursor.place = place;
  if (place.layer.exists()) cursor.place.stage = RingStep::of(0);
  cursor.phase = 0;
  if (!tensor.empty()) cursor.tensor = tensor;
  if (rank.exists()) cursor.rank = rank;
  return cursor;
}

}  // namespace ringscope::viz

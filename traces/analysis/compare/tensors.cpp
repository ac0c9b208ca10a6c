// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "traces/analysis/compare/parts.h"
#include "traces/analysis/compare/row_tally.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

struct Logical {
  std::int32_t train_step;
  std::int32_t layer;
  Direction direction;
  std::string tensor;
  friend bool operator<(const Logical& a, const Logical& b) {
    return std::tie(a.train_step, a.layer, a.direction, a.tensor) <
           std::tie(b.train_step, b.layer, b.direction, b.tensor);
  }
};
using Parts = std::vector<const TensorRecord*>;

/// Reports whether a tensor depends on a rank's own tokens, which another mesh deals differently.
bool isOfOneRank(const std::string& tensor) {
  return tensor == kOwnLossSum || tensor == kOwnTargets;
}

/// Returns all ranks' parts of tensors without a ring step. Blocks are left out, because they
/// belong to a schedule and not to the model.
std::map<Logical, Parts> partsFor(const Trace& trace) {
  std::map<Logical, Parts> parts;
  for (const TensorRecord& tensor : trace.tensors())
    if (!tensor.place.stage.exists() && !tensor.source_rank.exists() && tensor.microbatch == 0 &&
        !isOfOneRank(tensor.tensor.text()) && !isDerived(tensor.tensor))
      parts[{tensor.place.train_step, tensor.place.layer.value(), tensor.place.direction,
             tensor.tensor.text()}]
          .push_back(&tensor);
  return parts;
}

std::int64_t numbersFrom(const TensorRecord& tensor) {
  std::int64_t numbers = 1;
  for (const std::int64_t extent : tensor.shape) numbers *= std::max<std::int64_t>(extent, 0);
  return numbers;
}

/// Reports whether both are parts of one rank with one shape and one hash algorithm.
bool areComparable(const TensorRecord& a, const TensorRecord& b) {
  return a.rank == b.rank && a.shape == b.shape && a.hash_algorithm == b.hash_algorithm;
}

/// Reports whether the same ranks have parts of the same shapes with the same hashes.
bool sameHashes(const Parts& ours, const Parts& theirs) {
  if (ours.size() != theirs.size()) return false;
  return std::ranges::all_of(ours, [&](const TensorRecord* a) {
    return std::ranges::any_of(theirs, [&](const TensorRecord* b) {
      return areComparable(*a, *b) && a->hash == b->hash && a->dtype == b->dtype;
    });
  });
}

struct Together {
  double largest = 0, mean = 0;
  std::int64_t not_finite = 0;
};

Together statisticsOf(const Parts& parts) {
  Together all;
  double numbers = 0;
  for (const TensorRecord* part : parts) {
    const auto of_part = static_cast<double>(numbersFrom(*part));
    all.largest = std::max(all.largest, part->stats.abs_max);
    all.mean += part->stats.mean * of_part;
    numbers += of_part;
    all.not_finite += part->stats.nan + part->stats.inf;
  }
  if (numbers > 0) all.mean /= numbers;
  return all;
}

/// Sets the rank of the first part that differs, when both runs have the same ranks.
void nameFirstPart(const Parts& ours, const Parts& theirs, TensorDifference& found) {
  if (ours.size() != theirs.size()) return;
  for (const TensorRecord* a : ours)
    for (const TensorRecord* b : theirs)
      if (areComparable(*a, *b) && a->hash != b->hash && !found.rank.exists())
        found.rank = found.other = a->rank;
}

TensorDifference byStatistics(const Parts& ours, const Parts& theirs) {
  TensorDifference found;
  found.rows = 1;
  if (sameHashes(ours, theirs)) {
    found.by = ComparedBy::kHashes;
    return found;
  }
  found.by = ComparedBy::kStatistics;
  nameFirstPart(ours, theirs, found);
  const Together a = statisticsOf(ours), b = statisticsOf(theirs);
  if (a.not_finite != b.not_finite) found.worst = std::numeric_limits<double>::infinity();
  const double difference = std::max(std::abs(a.largest - b.largest), std::abs(a.mean - b.mean));
  if (found.worst == 0 && difference > 0) {
    const double size = std::max(a.largest, b.largest);
    found.worst = size > 0 ? difference / size : std::numeric_limits<double>::infinity();
  }
  found.differing = found.worst > 0;
  return found;
}

/// Returns a parameter that every rank holds whole and alike, such as a gradient after its sync or
/// a weight; null otherwise.
const TensorRecord* wholeOnAll(const Parts& parts) {
  const TensorRecord& first = *parts.front();
  const bool alike = std::ranges::all_of(parts, [&](const TensorRecord* part) {
    return part->hash == first.hash && part->shape == first.shape;
  });
  return alike && first.has_values ? &first : nullptr;
}

/// Compares two tensors by rows of the last dimension.
TensorDifference byValues(const TensorRecord& a, const std::vector<double>& ours,
                          const TensorRecord& b, const std::vector<double>& theirs) {
  const auto width = static_cast<std::size_t>(a.shape.empty() ? 1 : a.shape.back());
  RowTally tally;
  for (std::size_t at = 0; width > 0 && at + width <= ours.size(); at += width)
    tally.add(std::span(ours).subspan(at, width), std::span(theirs).subspan(at, width), {}, a.rank,
              b.rank);
  return tally.difference();
}

bool isOfParameter(const TensorRecord& tensor) {
  return tensor.tensor.kind == TensorKind::kGradient || tensor.tensor.kind == TensorKind::kWeight;
}

TensorDifference compared(const Trace& run, const Parts& ours, const Trace& other,
                          const Parts& theirs) {
  if (isOfParameter(*ours.front())) {
    const TensorRecord *a = wholeOnAll(ours), *b = wholeOnAll(theirs);
    if (a && b && a->shape == b->shape)
      if (const auto x = run.values(*a), y = other.values(*b); x && y)
        return byValues(*a, *x, *b, *y);
  }
  return byStatistics(ours, theirs);
}

}  // namespace

void compareTensors(const Trace& run, const Trace& other, RunComparison& comparison,
                    const GoOn& go_on) {
  const auto ours = partsFor(run), theirs = partsFor(other);
  std::map<Logical, bool> known;
  for (const TensorDifference& d : comparison.all)
    known[{d.place.train_step, d.place.layer.value(), d.place.direction, d.tensor}] = true;
  std::size_t done = 0;
  for (const auto& entry : ours) {
    const Logical& logical = entry.first;
    const auto& parts = entry.second;
    if (!goesOn(go_on, static_cast<double>(done++) / static_cast<double>(ours.size()))) return;
    const auto found = theirs.find(logical);
    if (found == theirs.end() || known.contains(logical)) continue;
    TensorDifference difference;
    if (!unlessDamaged(comparison,
                       [&] { difference = compared(run, parts, other, found->second); }))
      difference = byStatistics(parts, found->second);
    difference.place = {logical.train_step, Layer::of(logical.layer), logical.direction,
                        RingStep::none()};
    difference.tensor = logical.tensor;
    comparison.all.push_back(std::move(difference));
  }
}

}  // namespace ringscope::traces

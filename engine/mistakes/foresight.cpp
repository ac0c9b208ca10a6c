// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/foresight.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/schema/band.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::FirstSeenIn;

/// The keys of one row in one piece, [begin, end).
using Keys = std::pair<std::int64_t, std::int64_t>;
/// By source rank and local query row.
using KeysOfRows = std::map<std::pair<int, std::int64_t>, std::vector<Keys>>;

Keys keysOfRow(const traces::Band& band, std::int64_t row) {
  return {std::max(band.k_begin, row + band.low), std::min(band.k_end, row + band.high + 1)};
}

/// Calls `use(source, row, keys)` for each row of each piece that has a key.
template <typename Use>
void forEachRow(const RingSchedule& schedule, Use use) {
  for (const RingStage& stage : schedule.stages)
    for (const Piece& piece : stage.pieces) {
      const auto band = traces::Band::of(piece);
      for (std::int64_t row = piece.q_begin; row < piece.q_end; ++row)
        if (const Keys keys = keysOfRow(band, row); keys.first < keys.second)
          use(stage.source_rank.value(), row, keys);
    }
}

/// Returns the attended keys per row. Joins pieces that touch, because their pairs are those of one
/// piece.
KeysOfRows attendedKeys(const RingSchedule& schedule) {
  KeysOfRows all;
  forEachRow(schedule, [&](int source, std::int64_t row, Keys keys) {
    all[{source, row}].push_back(keys);
  });
  for (auto& [place, keys] : all) {
    std::ranges::sort(keys);
    std::vector<Keys> joined;
    for (const Keys& part : keys)
      if (!joined.empty() && part.first <= joined.back().second)
        joined.back().second = std::max(joined.back().second, part.second);
      else
        joined.push_back(part);
    keys = std::move(joined);
  }
  return all;
}

/// Compares what ranks do with a mistake and without.
class Comparison {
 public:
  Comparison(const traces::AskedMistake& asked, const Seams& without, const Seams& with,
             const PlannedRun& planned)
      : asked_(asked), without_(without), with_(with), planned_(planned) {}

  /// Reports whether a step shows the mistake. A run that cannot be planned with it shows it.
  bool shows(FirstSeenIn kind, std::int32_t step) const try {
    if (kind == FirstSeenIn::kTargets) return hasUnequalTargets(step);
    return std::ranges::any_of(ranksToAsk(kind), [&](WorldRank rank) {
      const SeamPlace at{planned_.mesh, planned_.mesh.placeFor(rank), {step}, GroupRank::none()};
      return showsAt(kind, at);
    });
  } catch (const std::exception&) {
    return true;
  }

 private:
  /// Ranks of a tp group read the same tokens and plan the same attention.
  std::vector<WorldRank> ranksToAsk(FirstSeenIn kind) const {
    const bool of_data = kind == FirstSeenIn::kInputs || kind == FirstSeenIn::kPadding;
    if (asked_.rank && !of_data) return {WorldRank::of(*asked_.rank)};
    std::vector<WorldRank> ranks = planned_.mesh.ranks();
    std::erase_if(
        ranks, [&](WorldRank rank) { return planned_.mesh.placeFor(rank).tp != GroupRank::of(0); });
    return ranks;
  }

  bool showsAt(FirstSeenIn kind, const SeamPlace& at) const {
    switch (kind) {
      case FirstSeenIn::kInputs:
        return !sameInputs(planned_.inputs(at, without_), planned_.inputs(at, with_), at.cpRank());
      case FirstSeenIn::kPadding:
        return !(planned_.inputs(at, without_).mask == planned_.inputs(at, with_).mask);
      case FirstSeenIn::kPairs:
        return attendsOtherwise(at, Direction::kForward) ||
               attendsOtherwise(at, Direction::kBackward);
      case FirstSeenIn::kMerges:
        return mergesRows(at);
      case FirstSeenIn::kBlocks:
        return planned_.run.sinks || planned_.run.dropout > 0 || hasRowsOfSeveralBlocks(at);
      default:
        return true;
    }
  }

  static bool sameInputs(const RankInputs& a, const RankInputs& b, GroupRank rank) {
    return a.layout.cpSize() == b.layout.cpSize() && a.layout.runs(rank) == b.layout.runs(rank) &&
           std::ranges::equal(a.tensors, b.tensors, [](const at::Tensor& x, const at::Tensor& y) {
             return x.sizes() == y.sizes() && at::equal(x, y);
           });
  }

  bool hasUnequalTargets(std::int32_t step) const {
    constexpr std::size_t kLabels = 1;
    std::set<std::int64_t> counts;
    for (const WorldRank rank : ranksToAsk(FirstSeenIn::kInputs)) {
      const SeamPlace at{planned_.mesh, planned_.mesh.placeFor(rank), {step}, GroupRank::none()};
      counts.insert(
          (planned_.inputs(at, with_).tensors.at(kLabels) >= 0).sum().item<std::int64_t>());
    }
    return counts.size() > 1;
  }

  /// Returns the schedule that the strategy plans with these seams.
  RingSchedule schedule(SeamPlace at, Direction direction, const Seams& seams) const {
    const traces::RunSpec& run = planned_.run;
    const RankInputs inputs = planned_.inputs(at, seams);
    ShardLayout layout = inputs.layout;
    seams.attention.layout(at, layout);
    const bool alone = layout.cpSize() == 1;
    const int ulysses = alone ? 1 : traces::ulyssesSize(run);
    if (alone || ulysses > 1) layout = layout.joined(ulysses);
    const GroupRank rank = alone ? GroupRank::of(0) : HybridPlace::of(at.cpRank(), ulysses).in_ring;
    const bool as_forward = direction == Direction::kForward || alone || !traces::hasRingHops(run);
    RingSchedule schedule = as_forward ? ringSchedule(layout, inputs.mask, rank)
                                       : ringBackwardSchedule(layout, inputs.mask, rank, run.order);
    at.place.layer = traces::Layer::of(asked_.layer.value_or(0));
    at.place.direction = direction;
    seams.attention.schedule(at, {layout, inputs.mask}, schedule);
    return schedule;
  }

  bool attendsOtherwise(const SeamPlace& at, Direction direction) const {
    const RingSchedule before = schedule(at, direction, without_),
                       after = schedule(at, direction, with_);
    const auto hops = [](const RingSchedule& s) {
      return std::ranges::count_if(s.stages, &RingStage::forwards_kv);
    };
    const bool sends_less = traces::hasRingHops(planned_.run) && hops(before) != hops(after);
    return sends_less || attendedKeys(before) != attendedKeys(after);
  }

  /// Reports whether rows are merged. A rank that attends alone merges by a path without a seam.
  bool mergesRows(const SeamPlace& at) const {
    ShardLayout layout = planned_.inputs(at, with_).layout;
    with_.attention.layout(at, layout);
    if (layout.cpSize() == 1) return false;
    std::set<std::int64_t> seen;
    bool twice = false;
    forEachRow(schedule(at, Direction::kForward, with_),
               [&](int, std::int64_t row, Keys) { twice = !seen.insert(row).second || twice; });
    return twice;
  }

  bool hasRowsOfSeveralBlocks(const SeamPlace& at) const {
    std::map<std::int64_t, int> source_of;
    bool several = false;
    forEachRow(schedule(at, Direction::kBackward, with_), [&](int source, std::int64_t row, Keys) {
      several = source_of.emplace(row, source).first->second != source || several;
    });
    return several;
  }

  const traces::AskedMistake& asked_;
  const Seams &without_, &with_;
  const PlannedRun& planned_;
};

/// Continues "… changes nothing in any training step, because".
const char* whyTheSame(FirstSeenIn kind) {
  switch (kind) {
    case FirstSeenIn::kInputs:
      return "every rank has the same tokens, labels and positions without it";
    case FirstSeenIn::kTargets:
      return "all ranks have equally many targets";
    case FirstSeenIn::kPairs:
      return "the same queries attend the same keys without it";
    case FirstSeenIn::kMerges:
      return "no query has keys in two pieces that are merged";
    case FirstSeenIn::kBlocks:
      return "no query attends keys of two blocks";
    case FirstSeenIn::kPadding:
      return "there is no padding";
    case FirstSeenIn::kSettings:
      break;
  }
  return "";
}

}  // namespace

std::optional<std::string> foreseenReason(const traces::AskedMistake& asked, const Seams& without,
                                          const Seams& with, const PlannedRun& planned,
                                          std::int32_t first_step) {
  const traces::Mistake* mistake = traces::findMistake(asked.id);
  if (!mistake || mistake->first_seen_in == FirstSeenIn::kSettings) return {};
  const Comparison comparison(asked, without, with, planned);
  const std::int32_t begin = asked.step.value_or(first_step),
                     end = asked.step ? begin + 1 : planned.run.steps;
  for (std::int32_t step = begin; step < end; ++step)
    if (comparison.shows(mistake->first_seen_in, step)) return {};
  const bool trains = planned.run.command == traces::Command::kTrain;
  const std::string steps = !trains      ? "here"
                            : asked.step ? "in that training step"
                                         : "in any training step";
  return "--mistake " + asked.text() + " changes nothing " + steps + ", because " +
         whyTheSame(mistake->first_seen_in) + "; use " + mistake->shown_by;
}

std::vector<std::string> unseenMistakes(const std::vector<std::pair<std::string, bool>>& watched,
                                        Communicator& ranks) {
  std::vector<std::string> sentences;
  if (watched.empty()) return sentences;
  std::vector<std::int64_t> flags;
  for (const auto& [id, seen_here] : watched) flags.push_back(seen_here ? 1 : 0);
  at::Tensor seen = at::tensor(flags, at::kLong);
  ranks.allReduceSum(seen, traces::Payload::kScalars);
  for (std::size_t i = 0; i < watched.size(); ++i)
    if (seen[static_cast<std::int64_t>(i)].item<std::int64_t>() == 0)
      sentences.push_back("--mistake " + watched[i].first + " changed nothing, because " +
                          traces::findMistake(watched[i].first)->when_unseen);
  return sentences;
}

}  // namespace ringscope::engine

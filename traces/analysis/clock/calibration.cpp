// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;
using CostParts = std::array<double, 3>;  ///< multiply-adds, bytes, stages, or the cost of each

double product(const CostParts& a, const CostParts& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The recorded times of one rank in a training step, with the work that took them.
struct RankTimes {
  std::map<Stage, CostSample> stages;
  CostSample hops;
};

/// Adds the time from when all had posted and the rank waited.
void addHop(CostSample& hops, const RecordedProgram& step, std::size_t r, const Op& op) {
  const Program::Rank& rank = step.program.ranks[r];
  const Program::Exchange& exchange = rank.exchanges[op.subject];
  const Event& wait = step.events[r][op.event];
  std::int64_t begin_ns = wait.begin_ns, sent = 0, received = 0;
  const auto posted_ns = [&](WorldRank who, std::uint32_t e) {
    return e == Program::kNone ? 0 : step.events[who.index()][e].begin_ns;
  };
  for (std::uint32_t i = 0; i < exchange.count; ++i) {
    const Program::Message& message = step.program.messages[rank.posted[exchange.first + i]];
    (message.from.index() == r ? sent : received) += message.bytes;
    begin_ns = std::max({begin_ns, posted_ns(message.from, message.send_event),
                         posted_ns(message.to, message.receive_event)});
  }
  hops.work += {0, static_cast<double>(std::max(sent, received)), 1};
  hops.seconds += 1e-9 * static_cast<double>(std::max<std::int64_t>(0, wait.end_ns - begin_ns));
}

/// Returns the time of each collective of a step that no plan has, as its last member saw it; 0 for
/// the others, which the link predicts.
std::vector<double> unplannedSeconds(const RecordedProgram& step) {
  std::vector<double> all(step.program.collectives.size(), std::numeric_limits<double>::max());
  for (std::size_t r = 0; r < step.program.ranks.size(); ++r)
    for (const Op& op : step.program.ranks[r].ops) {
      if (op.kind != Op::Kind::kCollective) continue;
      const Event& event = step.events[r][op.event];
      const bool planned =
          event.payload == Payload::kGrads || event.payload == Payload::kActivations;
      double& took = all[op.subject];
      took = planned ? 0 : std::min(took, 1e-9 * static_cast<double>(event.duration()));
    }
  return all;
}

RankTimes readTimes(const RecordedProgram& step, std::size_t rank, const RankWork& planned) {
  const std::vector<double> unplanned = unplannedSeconds(step);
  RankTimes times;
  for (const auto& [stage, work] : planned) times.stages[stage].work = work;
  double before_stage = 0;
  auto last = times.stages.begin();
  for (const Op& op : step.program.ranks[rank].ops) {
    if (op.kind == Op::Kind::kWait) addHop(times.hops, step, rank, op);
    if (op.kind == Op::Kind::kCollective) before_stage += unplanned[op.subject];
    if (op.kind != Op::Kind::kWork) continue;
    before_stage += 1e-9 * static_cast<double>(op.work_ns);
    if (op.event == Program::kNone) continue;
    const Event& event = step.events[rank][op.event];
    const auto stage = times.stages.find({event.kind, event.place.direction});
    if (stage == times.stages.end()) continue;
    last = stage;
    last->second.seconds += std::exchange(before_stage, 0);
  }
  last->second.seconds += before_stage;
  return times;
}

/// Returns the sample with the median of the times that `sample` selects.
template <typename Select>
CostSample medianSample(const std::vector<RankTimes>& steps, Select select) {
  std::vector<double> values(steps.size());
  std::ranges::transform(steps, values.begin(),
                         [&](const RankTimes& step) { return select(step).seconds; });
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return {select(steps.front()).work, *middle};
}

std::string describeType(const RunSpec& run) {
  return std::string(name(run.dtype)) + (run.fp8 ? " with FP8" : "") +
         (run.device == Device::kCuda ? " on a GPU" : "");
}

void requireUsable(const RunSpec& run, const std::vector<RecordedProgram>& steps) {
  if (steps.empty()) throw inputError("it holds no training step");
  for (const RecordedProgram& step : steps) {
    if (!step.usable())
      throw inputError("there is no model of this recording; " + step.lacks.front());
    if (!step.own_cores)
      throw inputError(
          "its ranks shared cores, so their times are not those of a device; record with at most "
          "as many ranks as cores");
  }
  if (run.p2p == PointToPoint::kOrdered)
    throw inputError("plans do not know --p2p ordered; record with --p2p batched");
}

}  // namespace

StageCost fitStageCost(const std::vector<CostSample>& samples) {
  constexpr int kSweeps = 10'000;
  std::vector<CostParts> rows;  // parts per second of recorded time
  for (const auto& [work, took] : samples)
    if (took > 0)
      rows.push_back({work.multiplyAdds() / took, work.memory_bytes / took, work.stages / took});
  std::array<CostParts, 3> squares{};
  CostParts sums{}, cost{};
  for (const CostParts& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      sums[i] += row[i];
      for (std::size_t j = 0; j < row.size(); ++j) squares[i][j] += row[i] * row[j];
    }
  // Coordinate descent. A single sample gives all of its time to the first part.
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t i = 0; i < cost.size(); ++i)
      if (squares[i][i] > 0)
        cost[i] = std::max(0.0, cost[i] + (sums[i] - product(squares[i], cost)) / squares[i][i]);
  StageCost fitted{cost[2], cost[1], cost[0]};
  double errors = 0;
  for (const CostParts& row : rows) errors += std::pow(product(row, cost) - 1, 2);
  const auto freedom =
      std::ssize(rows) - std::ranges::count_if(cost, [](double c) { return c > 0; });
  if (freedom > 0) fitted.spread = std::sqrt(errors / static_cast<double>(freedom));
  return fitted;
}

void Calibrator::add(const RunSpec& run, const ModelSizes& sizes,
                     const std::vector<RecordedProgram>& steps) {
  requireUsable(run, steps);
  if (first_ && describeType(*first_) != describeType(run))
    throw inputError("it computes in " + describeType(run) + ", and those named before it in " +
                     describeType(*first_) +
                     "; rates of a device are other ones for other types, so name recordings of "
                     "one");
  const std::vector<RankWork> planned = plannedWork(run, sizes);
  for (std::size_t rank = 0; rank < planned.size(); ++rank) {
    std::vector<RankTimes> times;
    times.reserve(steps.size());
    for (const RecordedProgram& step : steps) times.push_back(readTimes(step, rank, planned[rank]));
    for (const auto& [stage, sample] : times.front().stages)
      stages_[stage].push_back(
          medianSample(times, [&key = stage](const RankTimes& t) { return t.stages.at(key); }));
    const CostSample hops = medianSample(times, [](const RankTimes& t) { return t.hops; });
    if (hops.work.stages > 0) hops_.push_back(hops);
  }
  if (!first_) first_ = run;
  ++recordings_;
}

void Calibrator::add(const Trace& trace, const ModelSizes& sizes) {
  constexpr std::size_t kWarmUp = 2;
  if (!trace.run()) throw inputError("it does not say what was run");
  const std::vector<std::int32_t> numbers = recordedSteps(trace);
  std::vector<RecordedProgram> steps;
  for (std::size_t i = numbers.size() > kWarmUp ? kWarmUp : 0; i < numbers.size(); ++i)
    steps.push_back(recordedProgram(trace, numbers[i], numbers[i]));
  add(*trace.run(), sizes, steps);
}

Calibration Calibrator::fit() const {
  if (!first_) throw inputError("no recording to calibrate by");
  Calibration found;
  found.dtype = first_->dtype;
  found.fp8 = first_->fp8;
  found.made_on = first_->device;
  found.recordings = recordings_;
  if (!hops_.empty()) {
    const StageCost hop = fitStageCost(hops_);
    found.link = Link{"as recorded", hop.per_byte > 0 ? 1e-9 / hop.per_byte : 0, hop.fixed * 1e6};
  }
  found.device.name = "as recorded";
  for (const auto& [stage, samples] : stages_) found.device.measured[stage] = fitStageCost(samples);
  return found;
}

ModelSizes recordedModelSizes(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run || run->model_dir.empty())
    throw inputError(
        "it does not say which configuration its model has; record a run with --model DIR");
  return readModelSizes(run->model_dir);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "traces/analysis/clock/timeline.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;
using StageSamples = std::map<Stage, CostSample>;
using CostParts = std::array<double, 3>;  ///< multiply-adds, bytes, calls, or what each costs

double product(const CostParts& a, const CostParts& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// The times of one rank in a recorded training step.
struct RankTimes {
  StageSamples stages;
  CostSample hops;
};

/// Reads one recorded training step.
class StepReader {
 public:
  explicit StepReader(const RecordedProgram& step)
      : step_(step),
        collective_ns_(step.program.collectives.size(), std::numeric_limits<std::int64_t>::max()) {
    for (std::size_t r = 0; r < step.program.ranks.size(); ++r)
      for (const Op& op : step.program.ranks[r].ops)
        if (op.kind == Op::Kind::kCollective)
          collective_ns_[op.subject] =
              std::min(collective_ns_[op.subject], event(r, op).duration());
  }

  /// Adds the recorded times to the planned work.
  RankTimes read(std::size_t rank, const StageSamples& planned) const {
    RankTimes times{planned, {}};
    double before_stage = 0;
    auto last = times.stages.begin();
    for (const Op& op : step_.program.ranks[rank].ops) {
      if (op.kind == Op::Kind::kWait) addHop(times.hops, rank, op);
      if (op.kind == Op::Kind::kCollective) before_stage += unplannedSeconds(rank, op);
      if (op.kind != Op::Kind::kWork) continue;
      before_stage += seconds(op.work_ns);
      if (op.event == Program::kNone) continue;
      const auto stage = times.stages.find({event(rank, op).kind, event(rank, op).place.direction});
      if (stage == times.stages.end()) continue;
      last = stage;
      last->second.seconds += std::exchange(before_stage, 0);
    }
    last->second.seconds += before_stage;
    return times;
  }

 private:
  const Event& event(std::size_t rank, const Op& op) const { return step_.events[rank][op.event]; }

  /// Returns the time of a collective that no plan has, which is the time that its last member saw.
  /// The link predicts all-reduces of gradients and activations.
  double unplannedSeconds(std::size_t rank, const Op& op) const {
    const Payload payload = event(rank, op).payload;
    const bool planned = payload == Payload::kGrads || payload == Payload::kActivations;
    return planned ? 0 : seconds(collective_ns_[op.subject]);
  }

  /// Adds the time from when all had posted and the rank waited.
  void addHop(CostSample& hops, std::size_t r, const Op& op) const {
    const Program::Rank& rank = step_.program.ranks[r];
    const Program::Exchange& exchange = rank.exchanges[op.subject];
    std::int64_t begin_ns = event(r, op).begin_ns, sent = 0, received = 0;
    const auto posted_ns = [&](WorldRank who, std::uint32_t e) {
      return e == Program::kNone ? 0 : step_.events[who.index()][e].begin_ns;
    };
    for (std::uint32_t i = 0; i < exchange.count; ++i) {
      const Program::Message& message = step_.program.messages[rank.posted[exchange.first + i]];
      (message.from.index() == r ? sent : received) += message.bytes;
      begin_ns = std::max({begin_ns, posted_ns(message.from, message.send_event),
                           posted_ns(message.to, message.receive_event)});
    }
    hops.work += {0, static_cast<double>(std::max(sent, received)), 1, 0};
    hops.seconds += seconds(std::max<std::int64_t>(0, event(r, op).end_ns - begin_ns));
  }

  const RecordedProgram& step_;
  std::vector<std::int64_t> collective_ns_;
};

StageSamples plannedSamples(const std::vector<PlannedStage>& stages) {
  StageSamples samples;
  for (const PlannedStage& planned : stages) samples[planned.stage].work += planned.work;
  std::erase_if(samples, [](const auto& sample) { return sample.second.work.calls == 0; });
  return samples;
}

/// Returns the sample with the median of the times that `sample` selects.
template <typename Select>
CostSample medianSample(const std::vector<RankTimes>& steps, Select select) {
  std::vector<double> values(steps.size());
  std::ranges::transform(steps, values.begin(),
                         [&](const RankTimes& step) { return select(step).seconds; });
  return {select(steps.front()).work, median(std::move(values))};
}

std::optional<Link> fitLink(const std::vector<CostSample>& samples) {
  if (samples.empty()) return std::nullopt;
  const StageCost cost = fitStageCost(samples);
  return Link{"as recorded", cost.per_byte > 0 ? 1e-9 / cost.per_byte : 0, cost.fixed * 1e6};
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
      rows.push_back({work.multiplyAdds() / took, work.memory_bytes / took, work.calls / took});
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
  double errors = 0;
  for (const CostParts& row : rows) errors += std::pow(product(row, cost) - 1, 2);
  const double count = std::max(1.0, static_cast<double>(rows.size()));
  return {cost[2], cost[1], cost[0], std::sqrt(errors / count)};
}

Stage Calibration::leastCertainStage() const {
  const auto spread = [](const auto& entry) { return entry.second.spread; };
  return std::ranges::max_element(device.measured, {}, spread)->first;
}

void Calibrator::add(const RunSpec& run, const ModelSizes& sizes,
                     const std::vector<RecordedProgram>& steps) {
  requireUsable(run, steps);
  if (!runs_.empty() && describeType(runs_.front().run) != describeType(run))
    throw inputError("it computes in " + describeType(run) + ", and those named before it in " +
                     describeType(runs_.front().run) +
                     "; rates of a device are other ones for other types, so name recordings of "
                     "one");
  const PlannedWork planned = plannedWork(run, sizes);
  const std::vector<StepReader> readers(steps.begin(), steps.end());
  for (std::size_t rank = 0; rank < planned.stages.size(); ++rank) {
    std::vector<RankTimes> times;
    times.reserve(readers.size());
    for (const StepReader& reader : readers)
      times.push_back(reader.read(rank, plannedSamples(planned.stages[rank])));
    for (const auto& [stage, sample] : times.front().stages)
      stages_[stage].push_back(
          medianSample(times, [&key = stage](const RankTimes& t) { return t.stages.at(key); }));
    const CostSample hops = medianSample(times, [](const RankTimes& t) { return t.hops; });
    if (hops.work.calls > 0) hops_.push_back(hops);
  }
  std::vector<double> step_ns(steps.size());
  std::ranges::transform(steps, step_ns.begin(), [](const RecordedProgram& step) {
    return static_cast<double>(step.recorded_ns);
  });
  runs_.push_back({run, sizes, median(std::move(step_ns))});
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

Calibration Calibrator::fit(bool overlap) const {
  if (runs_.empty()) throw inputError("no recording to calibrate by");
  const RunSpec& first = runs_.front().run;
  Calibration found;
  found.dtype = first.dtype;
  found.fp8 = first.fp8;
  found.made_on = first.device;
  found.recordings = static_cast<int>(runs_.size());
  found.link = fitLink(hops_);
  found.device.name = "as recorded";
  for (const auto& [stage, samples] : stages_) found.device.measured[stage] = fitStageCost(samples);
  Hardware hardware;
  hardware.overlap = overlap;
  hardware.link = found.link.value_or(Link{});
  std::vector<double> errors;
  for (const Run& run : runs_) {
    const Program program = plannedProgram(run.run, run.sizes, found.device);
    errors.push_back(std::abs(replay(program, hardware).stepNs() / run.step_ns - 1));
  }
  found.worst_error = std::ranges::max(errors);
  found.median_error = median(std::move(errors));
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

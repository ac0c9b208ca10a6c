// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/calibration.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/clock/link_time.h"
#include "traces/analysis/clock/recorded_times.h"
#include "traces/analysis/clock/timeline.h"
#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::map<RecordedTimes::Stage, StageSample> stagesOf(const PlannedWork& planned, std::size_t rank) {
  std::map<RecordedTimes::Stage, StageSample> all;
  for (const PlannedStage& stage : planned.stages[rank])
    all[{stage.kind, stage.direction}].add(stage.work.parts());
  return all;
}

BetweenSample betweenStages(const PlannedWork& planned, std::size_t rank, const RunSpec& run) {
  BetweenSample all;
  for (const PlannedStage& stage : planned.stages[rank]) {
    all.events += stage.work.events;
    all.bytes += stage.work.memory_bytes;
  }
  for (const Program::Happening& event : planned.schedule.ranks[rank].events) {
    if (event.kind == EventKind::kWait) ++all.exchanges;
    if (event.kind != EventKind::kSend) continue;
    const auto packing = static_cast<std::size_t>(packingOf(event.payload, run));
    all.packed[packing] += static_cast<double>(event.bytes);
  }
  return all;
}

/// The gradient sync; null: one rank has none.
const Program::Collective* syncOf(const PlannedWork& planned) {
  const auto& all = planned.schedule.collectives;
  const auto at = std::ranges::find(all, GroupAxis::kDpCp, &Program::Collective::axis);
  return at == all.end() ? nullptr : &*at;
}

/// A number of each step, and of these the median.
template <typename Number>
double medianOf(const std::vector<RecordedTimes>& steps, Number number) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const RecordedTimes& step : steps) values.push_back(number(step));
  return median(std::move(values));
}

/// Whose latency and bandwidth the samples have; nothing: there are none.
std::optional<Link> linkOf(const std::vector<StageSample>& samples) {
  if (samples.empty()) return std::nullopt;
  const StageCost cost = fitStageCost(samples);
  return Link{"as recorded", cost.per_byte > 0 ? 1e-9 / cost.per_byte : 0, cost.fixed * 1e6};
}

double secondsOn(const Link& link, const StageSample& sample) {
  const double wire =
      link.gigabytes_per_second > 0 ? sample.bytes / link.gigabytes_per_second * 1e-9 : 0;
  return sample.calls * link.latency_us * 1e-6 + wire;
}

/// Each in the way that is the quicker one on the link, which is found in rounds.
std::optional<Link> linkOf(const std::vector<AllReduces>& all) {
  constexpr int kRounds = 4;
  std::optional<Link> link;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<StageSample> samples;
    samples.reserve(all.size());
    for (const AllReduces& each : all) {
      const bool tree = link && secondsOn(*link, each.tree) < secondsOn(*link, each.ring);
      samples.push_back(tree ? each.tree : each.ring);
      samples.back().seconds = each.seconds;
    }
    link = linkOf(samples);
  }
  return link;
}

std::string typeOf(const RunSpec& run) {
  return std::string(name(run.dtype)) + (run.fp8 ? " with FP8" : "") +
         (run.device == Device::kCuda ? " on a GPU" : "");
}

void requireUsable(const RecordedProgram& step) {
  if (!step.lacks.empty())
    throw inputError("there is no model of this recording; " + step.lacks[0]);
  if (!step.own_cores)
    throw inputError(
        "its ranks shared cores, so their times are not those of a device; record with at most as "
        "many ranks as cores");
}

void requirePlannable(const RunSpec& run) {
  if (run.p2p == PointToPoint::kOrdered)
    throw inputError("plans do not know --p2p ordered; record with --p2p batched");
}

}  // namespace

void Calibrator::requireAlike(const RunSpec& run) const {
  if (runs_.empty() || typeOf(runs_.front().run) == typeOf(run)) return;
  throw inputError("it computes in " + typeOf(run) + ", and those named before it in " +
                   typeOf(runs_.front().run) +
                   "; rates of a device are other ones for other types, so name recordings of one");
}

void Calibrator::add(const RunSpec& run, const ModelSizes& sizes,
                     const std::vector<RecordedProgram>& steps) {
  if (steps.empty()) throw inputError("it holds no training step");
  for (const RecordedProgram& step : steps) requireUsable(step);
  requirePlannable(run);
  requireAlike(run);
  const PlannedWork planned = plannedWork(run, sizes);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(run.cp); ++rank) {
    std::vector<RecordedTimes> times;
    times.reserve(steps.size());
    for (const RecordedProgram& step : steps) times.push_back(recordedTimes(step, rank));
    addRank(stagesOf(planned, rank), betweenStages(planned, rank, run), syncOf(planned), times);
  }
  std::vector<double> step_ns;
  step_ns.reserve(steps.size());
  for (const RecordedProgram& step : steps)
    step_ns.push_back(static_cast<double>(step.recorded_ns));
  runs_.push_back({run, sizes, median(std::move(step_ns))});
}

void Calibrator::addRank(std::map<Stage, StageSample> planned, BetweenSample between,
                         const Program::Collective* sync, const std::vector<RecordedTimes>& times) {
  for (auto& [stage, sample] : planned) {
    sample.seconds = medianOf(times, [&of = stage](const RecordedTimes& t) { return t.of(of); });
    if (stage.first == EventKind::kGradSync)
      sample.seconds += medianOf(times, [](const RecordedTimes& t) { return t.sync; });
    if (stage.first == EventKind::kGradSync && sync)
      syncs_.push_back({sample, sync->bytes, sync->ranks});
    else if (!sample.empty())
      samples_[stage].push_back(sample);
  }
  between.seconds = medianOf(times, [&](const RecordedTimes& t) {
    double seconds = t.between;  // with stages that no plan has, or in which it has nothing to do
    for (const auto& [stage, took] : t.stages)
      if (const auto at = planned.find(stage); at == planned.end() || at->second.empty())
        seconds += took;
    return seconds;
  });
  between_.push_back(between);
  StageSample hops = times.front().hops;
  hops.seconds = medianOf(times, [](const RecordedTimes& t) { return t.hops.seconds; });
  if (hops.calls > 0) hops_.push_back(hops);
  AllReduces activations = times.front().activations;
  activations.seconds =
      medianOf(times, [](const RecordedTimes& t) { return t.activations.seconds; });
  if (activations.ring.calls > 0) activations_.push_back(activations);
}

void Calibrator::add(const Trace& trace, const ModelSizes& sizes) {
  constexpr std::size_t kWarmUp = 2;
  if (!trace.run()) throw inputError("it does not say what was run");
  std::vector<std::int32_t> numbers = recordedSteps(trace);
  if (numbers.size() > kWarmUp) numbers.erase(numbers.begin(), numbers.begin() + kWarmUp);
  std::vector<RecordedProgram> steps;
  steps.reserve(numbers.size());
  for (const std::int32_t step : numbers) steps.push_back(recordedProgram(trace, step, step));
  add(*trace.run(), sizes, steps);
}

Calibration Calibrator::fit(bool overlap) const {
  if (runs_.empty()) throw inputError("no recording to calibrate by");
  Calibration found;
  found.dtype = runs_.front().run.dtype;
  found.fp8 = runs_.front().run.fp8;
  found.made_on = runs_.front().run.device;
  found.cores = runs_.front().run.cores;
  found.recordings = static_cast<int>(runs_.size());
  Hardware hardware;
  hardware.overlap = overlap;
  found.tp_link = linkOf(activations_);
  found.link = hops_.empty() ? found.tp_link : linkOf(hops_);
  if (found.link) hardware.link = *found.link;
  hardware.tp_link = found.tp_link;
  MeasuredDevice& measured = found.device.measured.emplace();
  for (const auto& [stage, samples] : samples_) measured.stages[stage] = fitStageCost(samples);
  measured.stages[kSync] = fitStageCost(syncSamples(hardware.link));
  measured.between = fitBetweenCost(between_);
  found.device.name = "as recorded";
  std::vector<double> errors;
  errors.reserve(runs_.size());
  for (const Run& run : runs_) {
    const Program program = plannedProgram(run.run, run.sizes, found.device);
    errors.push_back(std::abs(replay(program, hardware).stepNs() / run.step_ns - 1));
  }
  found.worst_error = std::ranges::max(errors);
  found.median_error = median(std::move(errors));
  return found;
}

std::vector<StageSample> Calibrator::syncSamples(const Link& link) const {
  std::vector<StageSample> samples;
  if (const auto alone = samples_.find(kSync); alone != samples_.end()) samples = alone->second;
  for (const Sync& sync : syncs_) {
    samples.push_back(sync.sample);
    samples.back().seconds =
        std::max(0.0, sync.sample.seconds -
                          1e-9 * static_cast<double>(allReduceNs(link, sync.bytes, sync.ranks)));
  }
  return samples;
}

ModelSizes recordedModelSizes(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run || run->model_dir.empty())
    throw inputError(
        "it does not say which configuration its model has; record a run with --model DIR");
  return readModelSizes(run->model_dir);
}

}  // namespace ringscope::traces

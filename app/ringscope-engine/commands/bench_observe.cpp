// SPDX-License-Identifier: Apache-2.0
// The cost of observing one stage.
#include <iomanip>
#include <iostream>

#include "app/ringscope-engine/commands/bench.h"
#include "engine/observe/nvtx_ranges.h"
#include "engine/observe/observer.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::app {
namespace {

constexpr int kStages = 200'000;

/// A sink that discards all chunks.
class Nowhere : public traces::ChunkSink {
 public:
  void write(const traces::Chunk&) override {}
  void flush() override {}
  void close() override {}
};

/// Returns the nanoseconds per call over kStages calls, as the median over rounds.
double nanosecondsEach(int rounds, const std::function<void(int)>& stage) {
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(rounds));
  for (int round = 0; round < rounds; ++round)
    all.push_back(seconds([&] {
                    for (int i = 0; i < kStages; ++i) stage(i);
                  }) *
                  1e9 / kStages);
  return median(std::move(all));
}

traces::Place placeFor(int i) {
  return {i / 1000, traces::Layer::of(0), traces::Direction::kForward, traces::RingStep::of(i % 8)};
}

}  // namespace

nlohmann::json benchObserve(const BenchOptions& o) {
  using traces::EventKind;
  constexpr auto kRank = traces::WorldRank::of(0);
  engine::Observer silent(kRank, nullptr, engine::CapturePolicy::none(), nullptr);
  traces::RecorderOptions options;
  options.events_per_rank = std::size_t{1} << 20;
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<Nowhere>());
  traces::Recorder recorder(1, std::move(sinks), options);
  engine::Observer recording(kRank, &recorder, engine::CapturePolicy::none(), nullptr);
  const double nvtx = nanosecondsEach(o.rounds, [](int i) {
    traces::Event event;
    event.place = placeFor(i);
    engine::nvtxBegin(event, event.bytes);
    engine::nvtxEnd();
  });
  const double unrecorded = nanosecondsEach(o.rounds, [&](int i) {
    const engine::StageScope scope(silent, EventKind::kAttend, placeFor(i), kRank);
  });
  const double recorded = nanosecondsEach(o.rounds, [&](int i) {
    const engine::StageScope scope(recording, EventKind::kAttend, placeFor(i), kRank);
  });
  return {{"bench", "observe"},
          {"stages", kStages},
          {"nvtx_ns", nvtx},
          {"unrecorded_stage_ns", unrecorded},
          {"recorded_stage_ns", recorded},
          {"dropped_events", recorder.stats().dropped_events}};
}

void printObserve(const nlohmann::json& r) {
  std::cout << std::fixed << std::setprecision(1) << "nanoseconds a stage\n"
            << "  NVTX range, " << (std::getenv("NVTX_INJECTION64_PATH") ? "a" : "no")
            << " tool attached " << std::setw(10) << r["nvtx_ns"].get<double>() << "\n"
            << "  stage, nothing recorded      " << std::setw(10)
            << r["unrecorded_stage_ns"].get<double>() << "\n"
            << "  stage, recorded              " << std::setw(10)
            << r["recorded_stage_ns"].get<double>() << "\n";
}

}  // namespace ringscope::app

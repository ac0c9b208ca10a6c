// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/recording.h"

#include <unistd.h>

#include <iostream>
#include <random>

#include "traces/stream/stream_sink.h"

namespace ringscope::app {
namespace {

constexpr std::size_t kStreamQueueBytes = std::size_t{64} << 20;

std::string newRunId() {
  std::random_device random;
  char text[20];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

}  // namespace

Recording::Recording(int ranks, const std::string& trace_path, bool control, engine::Gate& gate) {
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  if (!trace_path.empty()) {
    auto file = std::make_unique<traces::SqliteSink>(trace_path);
    file_ = file.get();
    sinks.push_back(std::move(file));
  }
  if (control) {
    (void)!::nice(10);  // the window at the other end shares these cores and must stay smooth
    const int frames = ::dup(STDOUT_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    writer_ = std::make_shared<traces::FrameWriter>(frames, kStreamQueueBytes);
    sinks.push_back(std::make_unique<traces::StreamSink>(writer_));
  }
  if (sinks.empty()) return;
  traces::RecorderOptions options;
  if (control)
    options.commit_interval = std::chrono::milliseconds(20);  // what the window sees of a live run
  recorder_ = std::make_unique<traces::Recorder>(ranks, std::move(sinks), options);
  if (control)
    control_ = std::make_unique<engine::ControlServer>(
        gate, *recorder_, writer_,
        engine::ControlServer::Options{newRunId(), trace_path, STDIN_FILENO, &live_, &switches_,
                                       [this](const std::string& json) { seal(json); }});
}

void Recording::diffsArrived(const std::vector<traces::DiffRecord>& diffs) {
  if (control_) control_->diffsArrived(diffs);
}

void Recording::seal(const std::string& json) {
  if (file_) file_->seal(json);
}

void Recording::finish(const std::string& failure, bool stopped) {
  if (!recorder_) return;
  if (!failure.empty()) recorder_->note("failure", nlohmann::json({{"reason", failure}}).dump());
  recorder_->close();
  for (const std::string& sentence : recorder_->stats().failed_sinks)
    std::cerr << "ringscope: the trace is cut: " << sentence << "\n";
  if (control_) control_->announceEnd(failure, stopped);
  control_.reset();
}

}  // namespace ringscope::app

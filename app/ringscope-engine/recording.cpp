// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/recording.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <utility>

#include "app/command_line/command.h"
#include "app/command_line/last_border.h"
#include "traces/format/core/utf8.h"
#include "traces/format/join/join_files.h"
#include "traces/format/stream/stream_sink.h"
#include "traces/format/trace/ending.h"

namespace ringscope::app {
namespace {

constexpr std::size_t kStreamQueueBytes = std::size_t{64} << 20;
constexpr auto kLiveCommit = std::chrono::milliseconds(20);  // the delay until a viewer of a live
                                                             // run sees an event

std::string newRunId() {
  std::random_device random;
  char text[20];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

std::string endedNote(const std::string& failure, bool stopped) {
  using traces::HowEnded;
  return traces::endedNote({!failure.empty() ? HowEnded::kFailed
                            : stopped        ? HowEnded::kStopped
                                             : HowEnded::kFinished,
                            traces::toUtf8(failure)});
}

void warnOfCuts(const traces::RecorderStats& stats) {
  for (const std::string& sentence : stats.failed_sinks)
    std::cerr << "ringscope: the trace is cut: " << sentence << "\n";
}

}  // namespace

Outputs::Outputs(const std::string& trace_path, bool control) : trace_path_(trace_path) {
  if (!trace_path.empty()) {
    // A client of the connection asks for parts of this run's file. The file must therefore not be
    // an older recording, so it is replaced at once.
    auto file = std::make_unique<traces::SqliteSink>(
        trace_path,
        control ? traces::ReplaceTrace::kAtOnce : traces::ReplaceTrace::kWhenTheRunIsUnderWay);
    file->onReplace([trace_path] {
      std::cerr << "ringscope: " << traces::toPlainText(trace_path)
                << " held an earlier recording, which this run replaces; --no-replace keeps one\n";
    });
    file_ = file.get();
    sinks_.push_back(std::move(file));
  }
  if (!control) return;
  std::signal(SIGPIPE, SIG_IGN);  // a client that goes away ends the connection, not the run
  (void)!::nice(10);  // the window at the other end shares these cores and must stay smooth
  const int frames = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  writer_ = std::make_shared<traces::FrameWriter>(frames, kStreamQueueBytes);
  sinks_.push_back(std::make_unique<traces::StreamSink>(writer_));
}

void Outputs::seal(const std::string& json) {
  if (file_) file_->seal(json);
}

std::unique_ptr<engine::ControlServer> Outputs::serve(engine::Gate& gate,
                                                      engine::ControlledRun& run) {
  if (!writer_) return nullptr;
  return std::make_unique<engine::ControlServer>(
      gate, run, writer_,
      engine::ControlServer::Options{newRunId(), trace_path_, STDIN_FILENO,
                                     [this](const std::string& json) { seal(json); }});
}

Recording::Recording(int ranks, const std::string& trace_path, bool control, engine::Gate& gate,
                     const std::optional<traces::RunSpec>& settings)
    : outputs_(isCollected() ? "" : trace_path, control && !isCollected()) {
  if (settings) switches_.expect(*settings);
  runStarts();
  if (isCollected()) sendUp(ranks, gate);
  if (!outputs_.any()) return;
  traces::RecorderOptions options;
  if (outputs_.hasControl()) options.commit_interval = kLiveCommit;
  recorder_ = std::make_unique<traces::Recorder>(ranks, outputs_.takeSinks(), options);
  recorder_->note(traces::kClockNote, traces::describeClock(recorder_->startNs()));
  if (!outputs_.hasControl()) return;
  run_ = std::make_unique<engine::RunHere>(gate, *recorder_, live_, switches_);
  control_ = outputs_.serve(gate, *run_);
}

void Recording::sendUp(int ranks, engine::Gate& gate) {
  const int fd = engine::RankLink::inheritedDescriptor();
  auto writer = std::make_shared<traces::FrameWriter>(fd, kStreamQueueBytes);
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<traces::StreamSink>(writer, traces::WhenFull::kWait));
  traces::RecorderOptions options;
  options.commit_interval = kLiveCommit;
  options.start_ns = engine::RankLink::inheritedClock();
  recorder_ = std::make_unique<traces::Recorder>(ranks, std::move(sinks), options);
  recorder_->note(traces::kClockNote, traces::describeClock(recorder_->startNs()));
  run_ = std::make_unique<engine::RunHere>(gate, *recorder_, live_, switches_);
  link_ = std::make_unique<engine::RankLink>(fd, std::move(writer), *run_);
}

Recording::~Recording() {
  finish("it ended without saying why", false);  // reached without finish() when a foreign
                                                 // exception passes
}

void Recording::diffsArrived(const std::vector<traces::DiffRecord>& diffs) {
  if (control_) control_->diffsArrived(diffs);
}

void Recording::finish(const std::string& failure, bool stopped) {
  if (!recorder_ || std::exchange(finished_, true)) return;
  recorder_->note(traces::kEndedNote, endedNote(failure, stopped));
  recorder_->close();
  warnOfCuts(recorder_->stats());
  if (control_) control_->announceEnd(failure, stopped);
  control_.reset();
  link_.reset();
}

void Recording::giveUp(const std::string& failure) {
  finish(failure, false);
  std::cerr << "ringscope: " << failure << std::endl;
  std::_Exit(kRunFailed);
}

CollectedRecording::CollectedRecording(int ranks, const std::string& trace_path, bool control,
                                       engine::Gate& gate)
    : outputs_(trace_path, control) {
  runStarts();
  if (!outputs_.any()) return;
  hub_ = std::make_unique<engine::RankHub>(gate, ranks, outputs_.takeSinks(),
                                           [this](const auto& diffs) {
                                             if (control_) control_->diffsArrived(diffs);
                                           });
  control_ = outputs_.serve(gate, *hub_);
}

CollectedRecording::~CollectedRecording() {
  finish("it ended without saying why", false);
}

void CollectedRecording::finish(const std::string& failure, bool stopped) {
  if (!hub_ || std::exchange(finished_, true)) return;
  hub_->note(traces::kEndedNote, endedNote(failure, stopped));
  hub_->close();
  warnOfCuts(hub_->stats());
  if (control_) control_->announceEnd(failure, stopped);
  control_.reset();
}

}  // namespace ringscope::app

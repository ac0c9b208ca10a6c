// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/observer.h"

#include <ATen/ATen.h>

#include "engine/observe/nvtx_ranges.h"
#include "engine/observe/tensor_stats.h"
#include "engine/progress/progress_board.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/hash.h"

namespace ringscope::engine {

Observer::Observer(WorldRank rank, traces::Recorder* recorder, CapturePolicy policy,
                   std::shared_ptr<MemoryTracker> memory, LiveTensors* live,
                   const LiveCapture* changing, std::unique_ptr<DeviceQueue> queue)
    : rank_(rank),
      recorder_(recorder),
      policy_(policy),
      memory_(std::move(memory)),
      live_(live),
      changing_(changing) {
  if (recorder_ && queue) late_times_.emplace(rank_, *recorder_, std::move(queue));
}

void Observer::event(const traces::Event& event) {
  if (recorder_) recorder_->event(event);
}

void Observer::transfer(const TransferReport& report, traces::WorldRank peer, traces::Event event) {
  if (!recorder_) return;
  event.kind = report.is_send ? traces::EventKind::kSend : traces::EventKind::kReceive;
  event.begin_ns = recorder_->toRunClock(report.begin_ns);
  event.start_ns = recorder_->toRunClock(report.start_ns);
  event.end_ns = recorder_->toRunClock(report.end_ns);
  event.bytes = report.bytes;
  event.flow = report.flow;
  event.rank = rank_;
  event.peer = peer;
  recorder_->event(event);
}

void Observer::collective(traces::GroupId group, const CollectiveReport& report,
                          const traces::Place& place) {
  if (!recorder_) return;
  traces::Event event;
  event.kind = traces::EventKind::kCollective;
  event.begin_ns = event.start_ns = recorder_->toRunClock(report.begin_ns);
  event.end_ns = recorder_->toRunClock(report.end_ns);
  event.bytes = report.bytes;
  event.flow = report.flow;
  event.place = place;
  event.place.stage = traces::RingStep::none();
  event.rank = rank_;
  event.group = group;
  event.payload = report.payload;
  recorder_->event(event);
}

void Observer::tensor(const traces::TensorName& name, const traces::Place& place,
                      const at::Tensor& tensor, traces::WorldRank source,
                      traces::PieceIndex piece) {
  if (live_) live_->put(rank_, name.text(), place, tensor);
  if (!recorder_) return;
  const auto keep = policy().keep(name, place);
  if (keep == CapturePolicy::Keep::kNothing) return;
  const MemoryScope scope(MemoryCategory::kVerify);  // the copy is not part of the training step's
                                                     // memory
  const at::Tensor contiguous = tensor.detach().cpu().contiguous();
  traces::TensorRecord record;
  record.tensor = name;
  record.place = place;
  record.pass = place.direction == traces::Direction::kForward ? traces::Pass::kForward
                                                               : traces::Pass::kBackward;
  record.source_rank = source;
  record.piece = piece;
  record.rank = rank_;
  record.dtype = dtypeFrom(contiguous);
  record.shape = contiguous.sizes().vec();
  record.hash = traces::mixSum64(contiguous.const_data_ptr(), contiguous.nbytes());
  record.stats = computeStats(contiguous);
  const bool may_be_infinite = traces::mayBeInfinite(name.kind);
  if (changing_ && (record.stats.nan > 0 || (record.stats.inf > 0 && !may_be_infinite)))
    changing_->nonFinite();
  recorder_->tensor(std::move(record),
                    keep == CapturePolicy::Keep::kValues ? bytesFrom(contiguous) : traces::Bytes());
}

void Observer::shard(const traces::ShardRecord& shard) {
  if (recorder_ && policy().keepsAnything()) recorder_->record(shard);
}

void Observer::sampleMemory(const traces::Place& place) {
  if (!recorder_ || !memory_) return;
  memory_->setPlace(rank_, place);
  const std::int64_t now = recorder_->now();
  // A peak lies between two samples. It gets a sample of its own, so that the recording contains
  // it.
  if (const auto peak = memory_->peak(rank_); peak.bytes > last_peak_) {
    last_peak_ = peak.bytes;
    recordMemory(std::clamp(recorder_->toRunClock(peak.at_ns), last_sampled_ns_, now),
                 peak.by_category);
  }
  MemoryTracker::Bytes held;
  for (std::size_t c = 0; c < held.size(); ++c)
    held[c] = memory_->bytes(rank_, static_cast<MemoryCategory>(c));
  recordMemory(now, held);
}

void Observer::recordMemory(std::int64_t time_ns, const MemoryTracker::Bytes& held) {
  // Samples of the same time are read as held together, so each sample has a different time.
  if (time_ns <= last_sampled_ns_) time_ns = last_sampled_ns_ + 1;
  last_sampled_ns_ = time_ns;
  for (std::size_t c = 0; c < held.size(); ++c) {
    if (held[c] == last_sample_[c]) continue;
    last_sample_[c] = held[c];
    recorder_->memory({time_ns, held[c], rank_, static_cast<MemoryCategory>(c)});
  }
}

StageScope::StageScope(Observer& observer, traces::EventKind kind, const traces::Place& place,
                       traces::WorldRank source_rank, const StageSize& size)
    : observer_(observer) {
  event_.kind = kind;
  event_.place = place;
  event_.rank = observer.rank();
  event_.source_rank = source_rank;
  event_.peer = size.peer;
  nvtxBegin(event_, size.bytes);
  reportOperation(kind);
  if (!observer_.recording()) return;
  observer_.sampleMemory(place);
  event_.begin_ns = event_.start_ns = observer_.now();
  cpu_begin_ = traces::threadCpuNow();
  if (traces::isDeviceWork(kind)) late_times_ = observer_.lateTimes();
  if (late_times_) late_times_->begin(event_);
}

StageScope::~StageScope() {
  if (observer_.recording()) {
    event_.cpu_ns = traces::threadCpuNow() - cpu_begin_;
    event_.end_ns = observer_.now();
    if (late_times_)
      late_times_->end(event_);
    else
      observer_.event(event_);
    observer_.sampleMemory(event_.place);
  }
  nvtxEnd();
}

}  // namespace ringscope::engine

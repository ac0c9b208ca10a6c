// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/observer.h"

#include <ATen/ATen.h>

#include "engine/launch/progress_board.h"
#include "engine/observe/nvtx_ranges.h"
#include "engine/observe/tensor_stats.h"
#include "engine/tensors/tensor_io.h"
#include "traces/core/checksum.h"
#include "traces/core/clock.h"

namespace ringscope::engine {

Observer::Observer(int rank, traces::Recorder* recorder, CapturePolicy policy,
                   std::shared_ptr<MemoryTracker> memory, LiveTensors* live,
                   const RunSwitches* switches)
    : rank_(rank),
      recorder_(recorder),
      policy_(std::move(policy)),
      memory_(std::move(memory)),
      live_(live),
      switches_(switches) {}

void Observer::event(const traces::Event& event) {
  if (recorder_) recorder_->event(event);
}

void Observer::transfers(const std::vector<TransferReport>& reports, traces::Payload payload,
                         int source_rank, const traces::Place& place) {
  if (!recorder_) return;
  for (const TransferReport& report : reports) {
    traces::Event event;
    event.kind = report.is_send ? traces::EventKind::kSend : traces::EventKind::kReceive;
    event.begin_ns = recorder_->toRunClock(report.begin_ns);
    event.end_ns = recorder_->toRunClock(report.end_ns);
    event.bytes = report.bytes;
    event.flow = report.flow;
    event.place = place;
    event.rank = static_cast<std::int16_t>(rank_);
    event.peer = static_cast<std::int16_t>(report.peer);
    event.source_rank = static_cast<std::int16_t>(source_rank);
    event.payload = payload;
    recorder_->event(event);
  }
}

void Observer::tensor(const std::string& name, const traces::Place& place,
                      const at::Tensor& tensor) {
  if (live_) live_->put(rank_, name, place, tensor);
  if (!recorder_) return;
  const auto keep = policy().keep(name, place);
  if (keep == CapturePolicy::Keep::kNothing) return;
  const MemoryScope scope(MemoryCategory::kOther);
  const at::Tensor contiguous = tensor.detach().cpu().contiguous();
  traces::TensorRecord record;
  record.name = name;
  record.place = place;
  record.rank = static_cast<std::int16_t>(rank_);
  record.dtype = dtypeOf(contiguous);
  record.shape = contiguous.sizes().vec();
  record.hash = traces::checksum(contiguous.const_data_ptr(), contiguous.nbytes());
  record.stats = statsOf(contiguous);
  // A row without a key has lse -inf by right.
  const bool may_be_infinite = name.ends_with("lse");
  if (switches_ && (record.stats.nan > 0 || (record.stats.inf > 0 && !may_be_infinite)))
    switches_->nonFinite();
  recorder_->tensor(std::move(record),
                    keep == CapturePolicy::Keep::kValues ? bytesOf(contiguous) : traces::Bytes());
}

void Observer::shard(traces::ShardRecord shard) {
  if (recorder_ && policy().keepsAnything()) recorder_->shard(std::move(shard));
}

void Observer::sampleMemory(const traces::Place& place) {
  if (!recorder_ || !memory_) return;
  memory_->setPlace(rank_, place);
  const std::int64_t now = recorder_->now();
  for (std::size_t c = 0; c < last_sample_.size(); ++c) {
    const auto category = static_cast<MemoryCategory>(c);
    const std::int64_t bytes = memory_->bytes(rank_, category);
    if (bytes == last_sample_[c]) continue;
    last_sample_[c] = bytes;
    recorder_->memory({now, bytes, static_cast<std::int16_t>(rank_), category});
  }
}

StageScope::StageScope(Observer& observer, traces::EventKind kind, const traces::Place& place,
                       int source_rank, std::int64_t bytes)
    : observer_(observer) {
  event_.kind = kind;
  event_.place = place;
  event_.rank = static_cast<std::int16_t>(observer.rank());
  event_.source_rank = static_cast<std::int16_t>(source_rank);
  event_.bytes = bytes;
  nvtxBegin(event_);
  reportOperation(kind);
  if (!observer_.recording()) return;
  observer_.sampleMemory(place);
  event_.begin_ns = observer_.now();
  cpu_begin_ = traces::threadCpuNow();
}

StageScope::~StageScope() {
  if (observer_.recording()) {
    event_.cpu_ns = traces::threadCpuNow() - cpu_begin_;
    event_.end_ns = observer_.now();
    observer_.event(event_);
    observer_.sampleMemory(event_.place);
  }
  nvtxEnd();
}

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/memory_tracker.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

#include "traces/format/core/clock.h"

namespace ringscope::engine {
namespace {

thread_local MemoryCategory current_category = MemoryCategory::kOther;

/// The hook that LibTorch's allocators call on the thread in whose slot it is set.
class Reporter : public c10::MemoryReportingInfoBase {
 public:
  Reporter(std::shared_ptr<MemoryTracker> tracker, WorldRank rank)
      : tracker_(std::move(tracker)), rank_(rank) {}
  bool memoryProfilingEnabled() const override { return true; }
  void reportMemoryUsage(void* address, std::int64_t bytes, std::size_t total_allocated,
                         std::size_t, c10::Device) override {
    tracker_->setAllocatorBytes(static_cast<std::int64_t>(total_allocated));
    if (bytes >= 0)
      tracker_->allocated(rank_, address, bytes);
    else
      tracker_->freed(address);
  }

 private:
  std::shared_ptr<MemoryTracker> tracker_;
  WorldRank rank_;
};

}  // namespace

MemoryScope::MemoryScope(MemoryCategory category) : previous_(current_category) {
  current_category = category;
}
MemoryScope::~MemoryScope() {
  current_category = previous_;
}
MemoryCategory MemoryScope::current() {
  return current_category;
}

MemoryTracker::MemoryTracker(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

MemoryTracker::Attachment::Attachment(std::shared_ptr<MemoryTracker> tracker, WorldRank rank) {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                   std::make_shared<Reporter>(std::move(tracker), rank));
}

MemoryTracker::Attachment::~Attachment() {
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
}

void MemoryTracker::allocated(WorldRank rank, void* address, std::int64_t bytes) {
  const traces::MutexLock lock(mutex_);
  blocks_[address] = {rank, current_category, bytes};
  RankUse& use = ranks_[rank.index()];
  use.bytes[static_cast<std::size_t>(current_category)] += bytes;
  ++use.allocations[static_cast<std::size_t>(current_category)];
  use.total += bytes;
  use.largest_total = std::max(use.largest_total, use.total);
  if (use.ofStep() > use.peak.bytes)
    use.peak = {use.ofStep(), use.place, traces::steadyNow(), use.bytes};
}

void MemoryTracker::freed(void* address) {
  const traces::MutexLock lock(mutex_);
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) return;  // allocated before the tracker started
  RankUse& use = ranks_[block->second.rank.index()];
  use.bytes[static_cast<std::size_t>(block->second.category)] -= block->second.bytes;
  use.total -= block->second.bytes;
  blocks_.erase(block);
}

void MemoryTracker::setPlace(WorldRank rank, const traces::Place& place) {
  const traces::MutexLock lock(mutex_);
  ranks_[rank.index()].place = place;
}

std::int64_t MemoryTracker::bytes(WorldRank rank, MemoryCategory category) const {
  const traces::MutexLock lock(mutex_);
  return ranks_[rank.index()].bytes[static_cast<std::size_t>(category)];
}

std::int64_t MemoryTracker::total(WorldRank rank) const {
  const traces::MutexLock lock(mutex_);
  return ranks_[rank.index()].total;
}

std::int64_t MemoryTracker::allocations(WorldRank rank, MemoryCategory category) const {
  const traces::MutexLock lock(mutex_);
  return ranks_[rank.index()].allocations[static_cast<std::size_t>(category)];
}

MemoryTracker::Peak MemoryTracker::peak(WorldRank rank) const {
  const traces::MutexLock lock(mutex_);
  return ranks_[rank.index()].peak;
}

std::int64_t MemoryTracker::peakWithVerification(WorldRank rank) const {
  const traces::MutexLock lock(mutex_);
  return ranks_[rank.index()].largest_total;
}

}  // namespace ringscope::engine

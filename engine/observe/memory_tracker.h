// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "traces/format/core/mutex.h"
#include "traces/format/schema/records.h"

namespace ringscope::engine {

using traces::MemoryCategory;
using traces::WorldRank;

/// A guard that sets the category of the calling thread's allocations.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryCategory category);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  static MemoryCategory current();

 private:
  MemoryCategory previous_;
};

/// The bytes that virtual ranks hold, by category. One table from address to (rank, category)
/// serves all ranks of a process, because another rank's thread may free a tensor. Thread-safe.
class MemoryTracker {
 public:
  static constexpr std::size_t kCategories = static_cast<std::size_t>(MemoryCategory::kCount);
  using Bytes = std::array<std::int64_t, kCategories>;  ///< by category
  /// The most memory that a rank's training step needed at once: the sum of all categories except
  /// MemoryCategory::kVerify.
  struct Peak {
    std::int64_t bytes = 0;
    traces::Place place;
    std::int64_t at_ns = 0;  ///< traces::steadyNow()
    Bytes by_category{};     ///< bytes held at that time
  };

  explicit MemoryTracker(int ranks);

  /// A guard that counts the calling thread's tensor allocations for `rank`.
  class Attachment {
   public:
    Attachment(std::shared_ptr<MemoryTracker> tracker, WorldRank rank);
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;
  };

  void setAllocatorBytes(std::int64_t bytes) { allocator_bytes_ = bytes; }
  void allocated(WorldRank rank, void* address, std::int64_t bytes);
  void freed(void* address);
  /// Sets the place of the rank, which becomes the place of its peak.
  void setPlace(WorldRank rank, const traces::Place& place);

  std::int64_t bytes(WorldRank rank, MemoryCategory category) const;
  std::int64_t total(WorldRank rank) const;
  /// Returns the bytes that LibTorch's allocator reports for all ranks' threads.
  std::int64_t allocatorBytes() const { return allocator_bytes_; }
  /// Returns the number of the rank's allocations in this category so far.
  std::int64_t allocations(WorldRank rank, MemoryCategory category) const;
  Peak peak(WorldRank rank) const;
  /// Returns the most memory that the rank held at once, including MemoryCategory::kVerify.
  std::int64_t peakWithVerification(WorldRank rank) const;

 private:
  struct Block {
    WorldRank rank;
    MemoryCategory category;
    std::int64_t bytes;
  };
  struct RankUse {
    Bytes bytes{}, allocations{};
    std::int64_t total = 0, largest_total = 0;
    std::int64_t ofStep() const {
      return total - bytes[static_cast<std::size_t>(MemoryCategory::kVerify)];
    }
    Peak peak;
    traces::Place place;
  };
  mutable traces::Mutex mutex_;
  std::atomic<std::int64_t> allocator_bytes_{0};
  std::unordered_map<void*, Block> blocks_ RINGSCOPE_GUARDED_BY(mutex_);
  std::vector<RankUse> ranks_ RINGSCOPE_GUARDED_BY(mutex_);
};

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <vector>

namespace ringscope::traces {

/// A bounded queue for one producing and one consuming thread. Neither ever blocks or allocates.
template <typename T>
class SpscRing {
 public:
  /// Rounds the capacity up to a power of two.
  explicit SpscRing(std::size_t capacity) : slots_(std::bit_ceil(capacity)) {}

  /// Appends a value. For the producer only. Returns false, and stores nothing, when the ring is
  /// full.
  bool push(const T& value) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - cached_head_ == slots_.size()) {
      cached_head_ = head_.load(std::memory_order_acquire);
      if (tail - cached_head_ == slots_.size()) return false;
    }
    slots_[tail & (slots_.size() - 1)] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Moves all stored values to the end of `out`. For the consumer only.
  void drain(std::vector<T>& out) {
    std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    for (; head != tail; ++head) out.push_back(slots_[head & (slots_.size() - 1)]);
    head_.store(head, std::memory_order_release);
  }

 private:
  std::vector<T> slots_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  std::size_t cached_head_ = 0;  // the producer's last reading of head_
  alignas(64) std::atomic<std::size_t> head_{0};
};

}  // namespace ringscope::traces

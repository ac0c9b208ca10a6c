// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ringscope::engine {

/// The end of the work that a queue had at one moment, as a CUDA event is. Thread-safe.
class QueueMark {
 public:
  virtual ~QueueMark() = default;
  virtual bool reached() const = 0;
  /// Blocks until the work is done. Throws what the first work that failed threw.
  virtual void wait() = 0;
};

/// A queue of work that runs in order, beside the thread that queues it, as a CUDA stream does.
/// Thread-safe.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  /// Queues work and returns at once. After work that threw, later work is left out.
  virtual void run(std::function<void()> work) = 0;
  /// Queues a copy of bytes between two ranks' memories, which must stay valid until it is done.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Marks the end of the work that was queued until now.
  virtual std::shared_ptr<QueueMark> mark() = 0;
  /// Lets work that is queued from now on wait for a mark of another queue.
  virtual void await(std::shared_ptr<QueueMark> mark) = 0;
  /// Blocks until all queued work is done. Throws what the first work that failed threw.
  void drain() { mark()->wait(); }
};

}  // namespace ringscope::engine

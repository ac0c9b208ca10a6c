// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <exception>
#include <thread>

#include "engine/queue/work_queue.h"
#include "traces/format/core/mutex.h"

namespace ringscope::engine {

/// A queue whose work runs on a thread of its own, which starts with the first work. The destructor
/// waits for the queued work.
class HostQueue : public WorkQueue {
 public:
  HostQueue() = default;
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;
  ~HostQueue() override;

  void run(std::function<void()> work) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  std::shared_ptr<QueueMark> mark() override;
  void await(std::shared_ptr<QueueMark> mark) override;

 private:
  /// The state of marks, which they keep when the queue itself is gone.
  struct Done {
    traces::Mutex mutex;
    traces::Condition changed;
    std::uint64_t count RINGSCOPE_GUARDED_BY(mutex) = 0;
    std::exception_ptr error RINGSCOPE_GUARDED_BY(mutex);
  };
  class Mark;

  void work();
  void finish(std::exception_ptr error);

  traces::Mutex mutex_;
  traces::Condition changed_;
  std::deque<std::function<void()>> waiting_ RINGSCOPE_GUARDED_BY(mutex_);
  std::uint64_t queued_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  bool ends_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  std::thread thread_ RINGSCOPE_GUARDED_BY(mutex_);
  std::shared_ptr<Done> done_ = std::make_shared<Done>();
};

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>

#include "traces/format/core/thread_annotations.h"

namespace ringscope::traces {

/// A std::mutex with the annotations that Clang checks.
class RINGSCOPE_CAPABILITY("mutex") Mutex {
 public:
  void lock() RINGSCOPE_ACQUIRE() { mutex_.lock(); }
  void unlock() RINGSCOPE_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// A lock that holds a mutex during its lifetime, except between unlock() and lock().
class RINGSCOPE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RINGSCOPE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() RINGSCOPE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() RINGSCOPE_ACQUIRE() { lock_.lock(); }
  void unlock() RINGSCOPE_RELEASE() { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

/// A std::condition_variable for a MutexLock. The predicate is evaluated under the lock:
///
///     changed_.wait(lock, [&]() RINGSCOPE_REQUIRES(mutex_) { return ready_; });
class Condition {
 public:
  template <typename Met>
  void wait(MutexLock& lock, Met met) RINGSCOPE_UNCHECKED {  // the analysis cannot tell which mutex
                                                             // the lock holds
    changed_.wait(lock.lock_, met);
  }
  /// Returns whether the predicate held before `longest` had passed.
  template <typename Duration, typename Met>
  bool waitFor(MutexLock& lock, Duration longest, Met met) RINGSCOPE_UNCHECKED {
    return changed_.wait_for(lock.lock_, longest, met);
  }
  void notifyOne() { changed_.notify_one(); }
  void notifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace ringscope::traces

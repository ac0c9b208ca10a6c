// SPDX-License-Identifier: Apache-2.0
#include "engine/queue/host_queue.h"

#include <cstring>

namespace ringscope::engine {

class HostQueue::Mark : public QueueMark {
 public:
  Mark(std::shared_ptr<Done> done, std::uint64_t count) : done_(std::move(done)), count_(count) {}

  bool reached() const override {
    const traces::MutexLock lock(done_->mutex);
    return done_->count >= count_;
  }
  void wait() override {
    Done& done = *done_;
    traces::MutexLock lock(done.mutex);
    done.changed.wait(lock, [&]() RINGSCOPE_REQUIRES(done.mutex) { return done.count >= count_; });
    if (done.error) std::rethrow_exception(done.error);
  }

 private:
  std::shared_ptr<Done> done_;
  std::uint64_t count_;
};

HostQueue::~HostQueue() {
  std::thread thread;
  {
    const traces::MutexLock lock(mutex_);
    ends_ = true;
    changed_.notifyAll();
    std::swap(thread, thread_);
  }
  if (thread.joinable()) thread.join();
}

void HostQueue::run(std::function<void()> work) {
  const traces::MutexLock lock(mutex_);
  ++queued_;
  waiting_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { this->work(); });
  changed_.notifyOne();
}

void HostQueue::copy(void* to, const void* from, std::size_t bytes) {
  run([=] { std::memcpy(to, from, bytes); });
}

std::shared_ptr<QueueMark> HostQueue::mark() {
  const traces::MutexLock lock(mutex_);
  return std::make_shared<Mark>(done_, queued_);
}

void HostQueue::await(std::shared_ptr<QueueMark> mark) {
  run([mark = std::move(mark)] { mark->wait(); });
}

void HostQueue::work() {
  traces::MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() RINGSCOPE_REQUIRES(mutex_) { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      bool failed = false;
      {
        const traces::MutexLock done(done_->mutex);
        failed = done_->error != nullptr;
      }
      if (!failed) next();
    } catch (...) {
      error = std::current_exception();
    }
    finish(std::move(error));
    lock.lock();
  }
}

void HostQueue::finish(std::exception_ptr error) {
  const traces::MutexLock lock(done_->mutex);
  ++done_->count;
  if (error && !done_->error) done_->error = std::move(error);
  done_->changed.notifyAll();
}

}  // namespace ringscope::engine

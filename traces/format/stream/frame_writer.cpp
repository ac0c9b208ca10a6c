// SPDX-License-Identifier: Apache-2.0
#include "traces/format/stream/frame_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace ringscope::traces {

FrameWriter::FrameWriter(int descriptor, std::size_t queue_bytes)
    : descriptor_(descriptor), queue_limit_(queue_bytes), thread_([this] { loop(); }) {}

FrameWriter::~FrameWriter() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.notifyAll();
  }
  thread_.join();
  ::close(descriptor_);
}

void FrameWriter::append(Bytes frame) {
  queued_ += frame.size();
  queue_.push_back(std::move(frame));
  changed_.notifyAll();
}

void FrameWriter::send(Bytes frame) {
  const MutexLock lock(mutex_);
  if (broken_ || closing_) return;
  append(std::move(frame));
}

bool FrameWriter::offer(Bytes frame) {
  const MutexLock lock(mutex_);
  if (broken_ || closing_ || queued_ + frame.size() > queue_limit_) return false;
  append(std::move(frame));
  return true;
}

bool FrameWriter::readerIsGone() const {
  {
    const MutexLock lock(mutex_);
    if (broken_) return true;
  }
  pollfd end{descriptor_, 0, 0};  // no event is requested; errors are always reported
  return ::poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

bool FrameWriter::overflows() const {
  const MutexLock lock(mutex_);
  return queued_ > 2 * queue_limit_;  // chunks alone never reach this limit
}

bool FrameWriter::waitAndSend(Bytes frame) {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() RINGSCOPE_REQUIRES(mutex_) {
    return broken_ || queue_.empty() || queued_ < queue_limit_;
  });
  if (broken_ || closing_) return false;
  append(std::move(frame));
  return true;
}

void FrameWriter::loop() {
  // A reader that has gone away must be an error of write(), not a signal that ends the process.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&]() RINGSCOPE_REQUIRES(mutex_) { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Bytes frame = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const bool written = writeAll(frame);
    lock.lock();
    queued_ -= frame.size();
    if (!written) {
      broken_ = true;
      queue_.clear();
      queued_ = 0;
    }
    changed_.notifyAll();
    if (!written) return;
  }
}

bool FrameWriter::writeAll(const Bytes& frame) {
  std::size_t done = 0;
  int idle_rounds = 0;
  while (done < frame.size()) {
    pollfd ready{descriptor_, POLLOUT, 0};
    if (::poll(&ready, 1, 200) == 0) {
      const MutexLock lock(mutex_);
      if (closing_ && ++idle_rounds > 10) return false;
      continue;
    }
    // After poll, a pipe accepts PIPE_BUF bytes without blocking.
    const std::size_t piece = std::min<std::size_t>(frame.size() - done, 4096);
    const ssize_t n = ::write(descriptor_, frame.data() + done, piece);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace ringscope::traces

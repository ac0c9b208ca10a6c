// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <thread>

#include "traces/format/core/bytes.h"
#include "traces/format/core/mutex.h"

namespace ringscope::traces {

/// A sender of frames through a file descriptor. It works in a thread of its own, so no caller
/// waits for the reader at the other end. Owns the descriptor. Thread-safe.
class FrameWriter {
 public:
  FrameWriter(int descriptor, std::size_t queue_bytes);
  /// Sends what is queued, then closes the descriptor. Waits at most two seconds for a reader that
  /// does not read.
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  /// Queues a frame even when the queue is full: replies and states are small.
  void send(Bytes frame);
  /// Queues a frame only when there is room. Returns false when it was left out.
  bool offer(Bytes frame);
  /// Reports whether the reader has gone away.
  bool readerIsGone() const;
  /// Reports whether so much waits for the reader that nothing more should be produced for it.
  bool overflows() const;
  /// Waits until there is room and queues the frame. Returns false when the reader has gone away.
  bool waitAndSend(Bytes frame);

 private:
  void append(Bytes frame) RINGSCOPE_REQUIRES(mutex_);
  void loop();
  bool writeAll(const Bytes& frame);

  const int descriptor_;
  const std::size_t queue_limit_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Bytes> queue_ RINGSCOPE_GUARDED_BY(mutex_);
  std::size_t queued_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  bool closing_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  bool broken_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringscope::traces

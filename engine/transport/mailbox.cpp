// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/mailbox.h"

#include <algorithm>
#include <cstring>

#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

void copyOnHost(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

Mailbox::Mailbox(int size, std::size_t least_queued_bytes)
    : size_(size),
      least_queued_bytes_(least_queued_bytes),
      changes_(static_cast<std::size_t>(size)),
      arrivals_(static_cast<std::size_t>(size), 0),
      copies_(static_cast<std::size_t>(size)) {}

void Mailbox::wakeAll() {
  for (traces::Condition& change : changes_) change.notifyAll();
}

void Mailbox::checkRank(GroupRank rank) const {
  if (rank.isNone() || rank.value() >= size_)
    throw usageError("rank " + toString(rank) + " is not among the " + std::to_string(size_) +
                     " ranks of this group");
}

std::shared_ptr<Parcel> Mailbox::send(GroupRank from, GroupRank to, int tag, const void* data,
                                      std::size_t bytes, CopyBytes copy,
                                      std::shared_ptr<void> keeps) {
  auto parcel = std::make_shared<Parcel>();
  *parcel = {from, to, tag, data, nullptr, bytes, copy, traces::steadyNow()};
  parcel->keeps = std::move(keeps);
  parcel->is_send = true;
  return post(std::move(parcel));
}

std::shared_ptr<Parcel> Mailbox::receive(GroupRank to, GroupRank from, int tag, void* data,
                                         std::size_t bytes, std::shared_ptr<void> keeps) {
  auto parcel = std::make_shared<Parcel>();
  *parcel = {from, to, tag, nullptr, data, bytes, copyOnHost, traces::steadyNow()};
  parcel->keeps = std::move(keeps);
  return post(std::move(parcel));
}

std::shared_ptr<Parcel> Mailbox::post(std::shared_ptr<Parcel> parcel) {
  checkRank(parcel->from);
  checkRank(parcel->to);
  const traces::MutexLock lock(mutex_);
  if (!aborted_.empty()) throw runFailed(aborted_);
  Queue& queue = queues_[{parcel->from, parcel->to, parcel->tag}];
  auto& opposite = parcel->is_send ? queue.receives : queue.sends;
  if (opposite.empty()) {
    (parcel->is_send ? queue.sends : queue.receives).push_back(parcel);
    return parcel;
  }
  parcel->other = opposite.front();
  parcel->other->other = parcel;
  opposite.pop_front();
  const Parcel& send = parcel->is_send ? *parcel : *parcel->other;
  if (send.copy == copyOnHost && send.bytes >= least_queued_bytes_) {
    parcel->copying = parcel->other->copying = true;
    copies_[parcel->to.index()].run(
        [this, parcel, other = parcel->other] { copyAndFinish(*parcel, *other); });
  } else {
    conditionFor(parcel->is_send ? parcel->to : parcel->from).notifyAll();
  }
  return parcel;
}

/// Copies a message. Returns the error; empty: no error.
std::string Mailbox::copied(const Parcel& send, const Parcel& receive) {
  if (send.bytes != receive.bytes)
    return "rank " + toString(send.from) + " sent " + std::to_string(send.bytes) +
           " bytes to rank " + toString(send.to) + ", which expects " +
           std::to_string(receive.bytes);
  try {
    if (send.bytes > 0) send.copy(receive.target, send.source, send.bytes);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Copies a parcel, whose sides are `parcel` and `other`, and wakes those who wait for it.
void Mailbox::copyAndFinish(Parcel& parcel, Parcel& other) {
  const std::int64_t started = traces::steadyNow();
  const std::string error = parcel.is_send ? copied(parcel, other) : copied(other, parcel);
  const std::int64_t now = traces::steadyNow();
  const traces::MutexLock lock(mutex_);
  for (Parcel* side : {&parcel, &other}) {
    side->started_ns = started;
    side->completed_ns = now;
    side->error = error;
    side->done = true;
    side->other.reset();
    side->keeps.reset();
  }
  conditionFor(parcel.from).notifyAll();
  conditionFor(parcel.to).notifyAll();
}

/// Copies a parcel. Releases the mutex during the copy.
void Mailbox::deliver(Parcel& parcel) {
  const std::shared_ptr<Parcel> other = parcel.other;
  parcel.copying = other->copying = true;
  mutex_.unlock();
  copyAndFinish(parcel, *other);
  mutex_.lock();
}

bool Mailbox::done(Parcel& parcel) {
  traces::MutexLock lock(mutex_);
  if (ready(parcel)) deliver(parcel);
  return parcel.done;
}

void Mailbox::wait(Parcel& parcel, GroupRank waiting_rank, std::chrono::milliseconds timeout) {
  checkRank(waiting_rank);
  traces::Condition& changed = conditionFor(waiting_rank);
  traces::MutexLock lock(mutex_);
  changed.waitFor(lock, timeout, [&]() RINGSCOPE_REQUIRES(mutex_) {
    return parcel.done || parcel.other || !aborted_.empty();
  });
  if (ready(parcel)) deliver(parcel);
  // A copy in progress ends by itself, and its memory must not be freed before it ends.
  if (parcel.copying) changed.wait(lock, [&] { return parcel.done; });
  if (parcel.done) {
    if (!parcel.error.empty()) throw runFailed(parcel.error);
    return;
  }
  if (aborted_.empty()) {
    const GroupRank peer = waiting_rank == parcel.from ? parcel.to : parcel.from;
    aborted_ = "rank " + toString(waiting_rank) + " waited " + std::to_string(timeout.count()) +
               " ms for rank " + toString(peer);
    wakeAll();
  }
  throw runFailed(aborted_);
}

void Mailbox::barrier(GroupRank rank, std::chrono::milliseconds timeout) {
  checkRank(rank);
  traces::MutexLock lock(mutex_);
  const std::uint64_t mine = ++arrivals_[rank.index()];
  auto late = [&]() RINGSCOPE_REQUIRES(mutex_) {
    return std::find_if(arrivals_.begin(), arrivals_.end(), [&](auto a) { return a < mine; });
  };
  auto all_here = [&]() RINGSCOPE_REQUIRES(mutex_) { return late() == arrivals_.end(); };
  if (all_here()) return wakeAll();
  conditionFor(rank).waitFor(
      lock, timeout, [&]() RINGSCOPE_REQUIRES(mutex_) { return all_here() || !aborted_.empty(); });
  if (all_here()) return;
  if (aborted_.empty()) {
    aborted_ = "rank " + toString(rank) + " waited " + std::to_string(timeout.count()) +
               " ms at a barrier for rank " + std::to_string(late() - arrivals_.begin());
    wakeAll();
  }
  throw runFailed(aborted_);
}

void Mailbox::abort(const std::string& reason) {
  const traces::MutexLock lock(mutex_);
  if (aborted_.empty()) aborted_ = reason;
  wakeAll();
}

}  // namespace ringscope::engine

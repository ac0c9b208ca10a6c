// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/mailbox.h"

#include <algorithm>
#include <cstring>

#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::engine {

void copyOnHost(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

Mailbox::Mailbox(int size)
    : size_(size),
      changes_(static_cast<std::size_t>(size)),
      arrivals_(static_cast<std::size_t>(size), 0) {}

void Mailbox::wakeAll() {
  for (std::condition_variable& change : changes_) change.notify_all();
}

void Mailbox::checkRank(int rank) const {
  if (rank < 0 || rank >= size_)
    throw usageError("rank " + std::to_string(rank) + " is not among the " + std::to_string(size_) +
                     " ranks of this group");
}

std::shared_ptr<Parcel> Mailbox::send(int from, int to, int tag, const void* data,
                                      std::size_t bytes, CopyBytes copy,
                                      std::shared_ptr<void> keeps) {
  auto parcel = std::make_shared<Parcel>();
  *parcel = {from, to, tag, data, nullptr, bytes, copy, traces::steadyNow()};
  parcel->keeps = std::move(keeps);
  parcel->is_send = true;
  return post(std::move(parcel));
}

std::shared_ptr<Parcel> Mailbox::receive(int to, int from, int tag, void* data, std::size_t bytes,
                                         std::shared_ptr<void> keeps) {
  auto parcel = std::make_shared<Parcel>();
  *parcel = {from, to, tag, nullptr, data, bytes, copyOnHost, traces::steadyNow()};
  parcel->keeps = std::move(keeps);
  return post(std::move(parcel));
}

std::shared_ptr<Parcel> Mailbox::post(std::shared_ptr<Parcel> parcel) {
  checkRank(parcel->from);
  checkRank(parcel->to);
  const std::lock_guard lock(mutex_);
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
  changeOf(parcel->is_send ? parcel->to : parcel->from).notify_all();
  return parcel;
}

/// What went wrong; empty: nothing.
std::string Mailbox::copied(const Parcel& send, const Parcel& receive) {
  if (send.bytes != receive.bytes)
    return "rank " + std::to_string(send.from) + " sent " + std::to_string(send.bytes) +
           " bytes to rank " + std::to_string(send.to) + ", which expects " +
           std::to_string(receive.bytes);
  try {
    if (send.bytes > 0) send.copy(receive.target, send.source, send.bytes);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// The lock is open while the copy is made.
void Mailbox::deliver(Parcel& parcel, std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Parcel> other = parcel.other;
  parcel.copying = other->copying = true;
  lock.unlock();
  const std::string error = parcel.is_send ? copied(parcel, *other) : copied(*other, parcel);
  const std::int64_t now = traces::steadyNow();
  lock.lock();
  for (Parcel* side : {&parcel, other.get()}) {
    side->completed_ns = now;
    side->error = error;
    side->done = true;
    side->other.reset();
    side->keeps.reset();
  }
  changeOf(parcel.from).notify_all();
  changeOf(parcel.to).notify_all();
}

bool Mailbox::done(Parcel& parcel) {
  std::unique_lock lock(mutex_);
  if (ready(parcel)) deliver(parcel, lock);
  return parcel.done;
}

void Mailbox::wait(Parcel& parcel, int waiting_rank, std::chrono::milliseconds timeout) {
  checkRank(waiting_rank);
  std::condition_variable& changed = changeOf(waiting_rank);
  std::unique_lock lock(mutex_);
  changed.wait_for(lock, timeout, [&] { return parcel.done || parcel.other || !aborted_.empty(); });
  if (ready(parcel)) deliver(parcel, lock);
  // A copy under way ends by itself, and its memory must not be freed before.
  if (parcel.copying) changed.wait(lock, [&] { return parcel.done; });
  if (parcel.done) {
    if (!parcel.error.empty()) throw runFailed(parcel.error);
    return;
  }
  if (aborted_.empty()) {
    const int peer = waiting_rank == parcel.from ? parcel.to : parcel.from;
    aborted_ = "rank " + std::to_string(waiting_rank) + " waited " +
               std::to_string(timeout.count()) + " ms for rank " + std::to_string(peer);
    wakeAll();
  }
  throw runFailed(aborted_);
}

void Mailbox::barrier(int rank, std::chrono::milliseconds timeout) {
  checkRank(rank);
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++arrivals_[static_cast<std::size_t>(rank)];
  auto late = [&] {
    return std::find_if(arrivals_.begin(), arrivals_.end(), [&](auto a) { return a < mine; });
  };
  auto all_here = [&] { return late() == arrivals_.end(); };
  if (all_here()) return wakeAll();
  changeOf(rank).wait_for(lock, timeout, [&] { return all_here() || !aborted_.empty(); });
  if (all_here()) return;
  if (aborted_.empty()) {
    aborted_ = "rank " + std::to_string(rank) + " waited " + std::to_string(timeout.count()) +
               " ms at a barrier for rank " + std::to_string(late() - arrivals_.begin());
    wakeAll();
  }
  throw runFailed(aborted_);
}

void Mailbox::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (aborted_.empty()) aborted_ = reason;
  wakeAll();
}

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/mailbox.h"

#include <algorithm>
#include <cstring>

#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::engine {

Mailbox::Mailbox(int size) : size_(size), arrivals_(static_cast<std::size_t>(size), 0) {}

void Mailbox::checkRank(int rank) const {
  if (rank < 0 || rank >= size_)
    throw usageError("rank " + std::to_string(rank) + " is not among the " + std::to_string(size_) +
                     " ranks of this group");
}

std::shared_ptr<Parcel> Mailbox::send(int from, int to, int tag, const void* data,
                                      std::size_t bytes) {
  auto parcel = std::make_shared<Parcel>();
  *parcel = {from, to, tag, data, nullptr, bytes, traces::steadyNow()};
  return post(std::move(parcel), true);
}

std::shared_ptr<Parcel> Mailbox::receive(int to, int from, int tag, void* data, std::size_t bytes) {
  auto parcel = std::make_shared<Parcel>();
  *parcel = {from, to, tag, nullptr, data, bytes, traces::steadyNow()};
  return post(std::move(parcel), false);
}

std::shared_ptr<Parcel> Mailbox::post(std::shared_ptr<Parcel> parcel, bool is_send) {
  checkRank(parcel->from);
  checkRank(parcel->to);
  std::shared_ptr<Parcel> other;
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_.empty()) throw runFailed(aborted_);
    Queue& queue = queues_[{parcel->from, parcel->to, parcel->tag}];
    auto& opposite = is_send ? queue.receives : queue.sends;
    if (opposite.empty()) {
      (is_send ? queue.sends : queue.receives).push_back(parcel);
      return parcel;
    }
    other = opposite.front();
    opposite.pop_front();
    other->copying = parcel->copying = true;
  }
  if (is_send)
    deliver(*parcel, *other);
  else
    deliver(*other, *parcel);
  return parcel;
}

void Mailbox::deliver(Parcel& send, Parcel& receive) {
  std::string error;
  if (send.bytes != receive.bytes)
    error = "rank " + std::to_string(send.from) + " sent " + std::to_string(send.bytes) +
            " bytes to rank " + std::to_string(send.to) + ", which expects " +
            std::to_string(receive.bytes);
  else if (send.bytes > 0)
    std::memcpy(receive.target, send.source, send.bytes);
  const std::int64_t now = traces::steadyNow();
  const std::lock_guard lock(mutex_);
  for (Parcel* side : {&send, &receive}) {
    side->completed_ns = now;
    side->error = error;
    side->done = true;
  }
  changed_.notify_all();
}

bool Mailbox::done(const Parcel& parcel) const {
  const std::lock_guard lock(mutex_);
  return parcel.done;
}

void Mailbox::wait(Parcel& parcel, int waiting_rank, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return parcel.done || !aborted_.empty(); });
  // A copy under way ends by itself, and its memory must not be freed before.
  if (parcel.copying) changed_.wait(lock, [&] { return parcel.done; });
  if (parcel.done) {
    if (!parcel.error.empty()) throw runFailed(parcel.error);
    return;
  }
  if (aborted_.empty()) {
    const int peer = waiting_rank == parcel.from ? parcel.to : parcel.from;
    aborted_ = "rank " + std::to_string(waiting_rank) + " waited " +
               std::to_string(timeout.count()) + " ms for rank " + std::to_string(peer);
    changed_.notify_all();
  }
  throw runFailed(aborted_);
}

void Mailbox::barrier(int rank, std::chrono::milliseconds timeout) {
  checkRank(rank);
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++arrivals_[static_cast<std::size_t>(rank)];
  changed_.notify_all();
  auto late = [&] {
    return std::find_if(arrivals_.begin(), arrivals_.end(), [&](auto a) { return a < mine; });
  };
  changed_.wait_for(lock, timeout, [&] { return late() == arrivals_.end() || !aborted_.empty(); });
  if (late() == arrivals_.end()) return;
  if (aborted_.empty()) {
    aborted_ = "rank " + std::to_string(rank) + " waited " + std::to_string(timeout.count()) +
               " ms at a barrier for rank " + std::to_string(late() - arrivals_.begin());
    changed_.notify_all();
  }
  throw runFailed(aborted_);
}

void Mailbox::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (aborted_.empty()) aborted_ = reason;
  changed_.notify_all();
}

}  // namespace ringscope::engine

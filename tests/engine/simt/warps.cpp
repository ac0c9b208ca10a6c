// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/simt/warps.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <exception>
#include <random>
#include <stdexcept>
#include <vector>

namespace ringscope::simt {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = std::size_t{64} << 10;

struct Lane {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(kStackBytes);
  Index thread;
  bool waits = false, returned = false;
  std::size_t meetings = 0;
  std::array<float, 2> given{};  ///< by the parity of the meeting
};

class Warp {
 public:
  Warp(Index block, unsigned first_thread, const std::function<void()>& lane)
      : block_(block), lane_(lane), lanes_(kLanes) {
    for (unsigned i = 0; i < kLanes; ++i) lanes_[i].thread.x = first_thread + i;
  }

  void run(std::mt19937& random);
  void meet() {
    Lane& lane = *running_;
    lane.waits = true;
    ++lane.meetings;
    swapcontext(&lane.context, &scheduler_);
  }
  float exchange(float value, int mask) {
    Lane& lane = *running_;
    const std::size_t parity = lane.meetings % 2;
    lane.given[parity] = value;
    meet();
    const auto other =
        static_cast<std::size_t>(lane.thread.x % kLanes) ^ static_cast<unsigned>(mask);
    return lanes_[other].given[parity];
  }
  Index& block() { return block_; }
  Index& thread() { return running_->thread; }

  static thread_local Warp* current;

 private:
  static void enter() {
    Warp& warp = *current;
    try {
      warp.lane_();
    } catch (...) {
      warp.error_ = std::current_exception();
    }
    warp.running_->returned = true;
  }

  Index block_;
  const std::function<void()>& lane_;
  std::vector<Lane> lanes_;
  Lane* running_ = nullptr;
  ucontext_t scheduler_{};
  std::exception_ptr error_;
};
thread_local Warp* Warp::current = nullptr;

void Warp::run(std::mt19937& random) {
  current = this;
  for (Lane& lane : lanes_) {
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.data();
    lane.context.uc_stack.ss_size = lane.stack.size();
    lane.context.uc_link = &scheduler_;
    makecontext(&lane.context, enter, 0);
  }
  std::vector<Lane*> order;
  for (Lane& lane : lanes_) order.push_back(&lane);
  while (true) {
    std::ranges::shuffle(order, random);
    for (Lane* lane : order) {
      if (lane->returned) continue;
      running_ = lane;
      swapcontext(&scheduler_, &lane->context);
      if (error_) std::rethrow_exception(error_);
    }
    const auto waiting = std::ranges::count(lanes_, true, &Lane::waits);
    if (waiting == 0) return;
    if (waiting != kLanes)
      throw std::logic_error(std::to_string(waiting) +
                             " lanes of a warp wait for others, which have returned");
    for (Lane& lane : lanes_) lane.waits = false;
  }
}

}  // namespace

Index& blockOfLane() {
  return Warp::current->block();
}
Index& threadOfLane() {
  return Warp::current->thread();
}
void meet() {
  Warp::current->meet();
}
float exchange(float value, int mask) {
  return Warp::current->exchange(value, mask);
}

void runGrid(unsigned blocks, unsigned threads_per_block, unsigned seed,
             const std::function<void()>& lane) {
  std::mt19937 random(seed);
  for (unsigned block = 0; block < blocks; ++block)
    for (unsigned thread = 0; thread < threads_per_block; thread += kLanes)
      Warp({block}, thread, lane).run(random);
}

}  // namespace ringscope::simt

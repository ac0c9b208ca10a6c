// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// One message: a send and its receive, matched by their flow.
struct Flow {
  std::shared_ptr<const Event> send;     ///< null: no rank is recorded as having sent it
  std::shared_ptr<const Event> receive;  ///< null: it was never received
};

/// All messages of one payload, for a single iteration: first the messages with both ends, training
/// step by training step, then the others, rank by rank. Events are read during the iteration and
/// then released, unless the caller keeps the flow. The trace must not change meanwhile.
class Flows {
 public:
  Flows(const Trace& trace, Payload payload);

  class Iterator {
   public:
    explicit Iterator(Flows* flows) : flows_(flows) {}
    const Flow& operator*() const { return flows_->ready_.front(); }
    Iterator& operator++() {
      flows_->ready_.pop_front();
      flows_->fetch();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return flows_->ready_.empty(); }

   private:
    Flows* flows_;
  };
  Iterator begin() {
    fetch();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  void fetch();
  void readStep(std::int32_t train_step);
  void take(const Event& event);
  void finish();

  const Trace& trace_;
  Payload payload_;
  std::vector<std::int32_t> steps_;
  std::size_t next_ = 0;  // index into steps_
  bool finished_ = false;
  std::unordered_map<std::uint64_t, Flow> open_;  // messages with one end so far, by flow number
  Flow unnumbered_;  // events without a flow number: the last send and the last receive
  std::vector<std::uint64_t> matched_;
  std::deque<Flow> ready_;
};
inline Flows matchFlows(const Trace& trace, Payload payload) {
  return {trace, payload};
}

/// The number of hops of one rank in one direction of one layer, and their bytes.
struct HopCount {
  int hops = 0;
  std::int64_t bytes = 0;
};
HopCount countHops(const Trace& trace, WorldRank rank, Payload payload, std::int32_t train_step,
                   Layer layer, Direction direction);

}  // namespace ringscope::traces

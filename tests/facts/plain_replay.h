// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/clock/hardware.h"
#include "traces/clock/program.h"

namespace ringscope::facts {

/// From when to when; −1: never.
struct When {
  std::int64_t begin = -1, end = -1;
  std::int64_t length() const { return end - begin; }
};

/// A schedule's times on own devices, found by guessing them and going through all ranks again and
/// again until nothing changes. For links that each pair of ranks has for itself, in each
/// direction: of other links the definition leaves open which of two messages is first.
struct PlainReplay {
  std::vector<std::vector<When>> ops;     ///< by rank
  std::vector<When> messages;             ///< moving: from its first byte's leaving to its arrival
  std::vector<std::int64_t> left, ready;  ///< of messages: sent, and posted by both ends
  std::vector<When> collectives;          ///< from the last member's posting

  PlainReplay(const traces::Program& program, const traces::Hardware& hardware);

  /// What a wait or collective of a rank cost, asked of every piece between two borders.
  struct Cost {
    std::int64_t exposed = 0, hidden = 0, late = 0, bytes = 0;
  };
  Cost costOf(std::size_t rank, std::size_t op) const;
  std::int64_t end() const;
  std::int64_t endOf(std::size_t rank) const {
    return ops[rank].empty() ? 0 : ops[rank].back().end;
  }

 private:
  bool goThrough(std::size_t rank);
  bool move();
  void post(std::size_t rank, std::uint32_t exchange, std::int64_t now);
  std::int64_t doneOf(std::size_t rank, std::uint32_t exchange) const;

  const traces::Program& program_;
  const traces::Hardware& hardware_;
  std::vector<std::int64_t> sender_posted_, receiver_posted_;
  std::vector<std::vector<std::int64_t>> posted_collectives_;  ///< by collective and rank
};

}  // namespace ringscope::facts

// SPDX-License-Identifier: Apache-2.0
// When everything of a schedule happens, reckoned from the rules of
// traces/analysis/clock/timeline.h alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "traces/analysis/clock/hardware.h"
#include "traces/analysis/clock/program.h"

namespace ringscope::facts {

struct Times {
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
  bool operator==(const Times&) const = default;
};

/// Computes every time again from the times of the previous sweep, until no time changes. Ops that
/// wait for nothing are right after the first sweep, and ops that wait for them after the second.
class PlainReplay {
 public:
  static constexpr std::int64_t kNever = INT64_MAX / 4;

  struct Move {
    std::int64_t ready = kNever;  ///< both ends have posted it
    std::int64_t start = kNever;  ///< the link is free
    std::int64_t left = kNever, end = kNever;
    bool operator==(const Move&) const = default;
  };
  /// The cost of a wait or a collective to its rank.
  struct Cost {
    std::int64_t bytes = 0, under_way = 0, hidden = 0, exposed = 0, late = 0;
    Cost& operator+=(const Cost& other);
  };

  PlainReplay(const traces::Program& program, const traces::Hardware& hardware);

  /// Reports whether two messages asked for one link in the same nanosecond and no rule orders
  /// them. Both orders are then valid, and the compared schedule may have the other one. The same
  /// holds when each sweep reverses the order of the sweep before.
  bool tied() const { return tied_; }
  /// Every op has a time.
  bool ends() const;
  std::int64_t end() const;
  /// From the begin of its first op to the end of its last; of a message from its start.
  Times of(std::size_t rank, std::uint32_t event) const { return events_[rank][event]; }
  Cost cost(std::size_t rank, std::size_t op) const;

  std::vector<std::vector<Times>> ops;              ///< by rank
  std::vector<Move> moves;                          ///< by message
  std::vector<Times> collectives;                   ///< from when all are there
  std::vector<std::array<std::int64_t, 2>> posted;  ///< by message: of its sender, its receiver

 private:
  struct End {
    std::size_t message = 0;
    bool sends = false;
  };
  using Exchange = std::pair<std::size_t, std::uint32_t>;  ///< of a rank, by number
  /// A request for a link: its time, the distance of the receiver, the message, and whether the
  /// message arrives or departs.
  struct Want {
    std::int64_t at = 0;
    int distance = 0;
    std::size_t message = 0;
    bool arrives = false;
    auto operator<=>(const Want&) const = default;
  };

  void runRanks();
  void post(const Exchange& exchange, std::int64_t now);
  std::int64_t arrivalTime(const Exchange& exchange) const;
  void joinCollectives();
  void moveMessages();
  bool isOrdered(const Want& a, const Want& b) const;
  void drawEvents();
  Exchange lastPost(std::size_t message) const;

  const traces::Program& program_;
  const traces::Hardware& hardware_;
  std::map<Exchange, std::vector<End>> exchanges_;
  std::vector<std::vector<std::int64_t>> joined_;  ///< by collective: when each came
  std::vector<std::vector<Times>> events_;
  bool tied_ = false;
};

/// An all-reduce: ring or tree, whichever is quicker, and no less than the floor.
std::int64_t allReduceMeant(const traces::Link& link, std::int64_t bytes, int ranks,
                            double floor_us = 0);
/// Work ÷ scale, and no less than what its kernels take.
std::int64_t workMeant(const traces::Program::Op& op, const traces::Hardware& hardware);
/// How long the bytes occupy a link.
std::int64_t wireMeant(const traces::Link& link, std::int64_t bytes);

}  // namespace ringscope::facts

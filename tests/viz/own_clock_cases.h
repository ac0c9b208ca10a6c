// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "traces/analysis/clock/hardware.h"

namespace ringscope::test {

/// One layer of forward over four ranks on one core, so wall times are meaningless. It gives the
/// thread CPU time of each block; blocks have 4,096 bytes. On link() a hop takes 2,500 ns: 2,000 on
/// the link and 500 of latency.
class OwnClockCase {
 public:
  static constexpr int kRanks = 4;

  /// Returns a ring: each block is sent to the next rank while the one before is attended.
  static std::string ring(int attend_ns) {
    OwnClockCase c;
    for (int rank = 0; rank < kRanks; ++rank)
      for (int s = 0; s < kRanks; ++s) {
        const int time = 100 * s, source = (rank - s + kRanks) % kRanks;
        c.attend(rank, s, source, time, attend_ns);
        if (s + 1 < kRanks) c.hop(rank, (rank + 1) % kRanks, s, source, s + 1, time);
        if (s + 1 < kRanks) c.wait(rank, s, (source - 1 + kRanks) % kRanks, s + 1, time + 60);
      }
    return c.text_;
  }

  /// Returns an all-gather: each rank sends its block to all others at once, and waits for all of
  /// theirs.
  static std::string allGather(int attend_ns) {
    OwnClockCase c;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int by = 1; by < kRanks; ++by) c.hop(rank, (rank + by) % kRanks, 0, rank, 1, 0);
      c.attend(rank, 0, rank, 0, attend_ns);
      c.wait(rank, 0, rank, 1, 60);
      for (int s = 1; s < kRanks; ++s)
        c.attend(rank, s, (rank - s + kRanks) % kRanks, 100 * s, attend_ns);
    }
    return c.text_;
  }

  /// Returns a link with 4,096 bytes in 2,000 ns and 500 ns of latency.
  static traces::Hardware link() {
    traces::Hardware hardware;
    hardware.link = {"a link", 4096.0 / 2000, 0.5, true, true};
    return hardware;
  }

 private:
  static std::string at(int rank, int stage) {
    return " rank=" + std::to_string(rank) + " layer=0 stage=" + std::to_string(stage);
  }
  static std::string time(int from, int to) {
    return " time=" + std::to_string(from) + "-" + std::to_string(to) + "\n";
  }
  void attend(int rank, int stage, int source, int from, int cpu_ns) {
    text_ += "attend" + at(rank, stage) + " source=" + std::to_string(source) +
             " cpu=" + std::to_string(cpu_ns) + time(from, from + 50);
  }
  void wait(int rank, int stage, int source, int exchange, int from) {
    text_ += "wait" + at(rank, stage) + " payload=kv source=" + std::to_string(source) +
             " group=0 exchange=" + std::to_string(exchange) + time(from, from + 30);
  }
  /// Adds both ends of a hop, in exchanges of the same number.
  void hop(int from, int to, int stage, int source, int exchange, int posted) {
    const std::string what = " payload=kv source=" + std::to_string(source) +
                             " group=0 exchange=" + std::to_string(exchange) +
                             " bytes=4096 flow=" + std::to_string(++flow_);
    text_ +=
        "send" + at(from, stage) + " peer=" + std::to_string(to) + what + time(posted, posted + 80);
    text_ += "receive" + at(to, stage) + " peer=" + std::to_string(from) + what +
             time(posted, posted + 80);
  }

  std::string text_ = "run cp=4 cores=1\ngroup cp 0,1,2,3\n";
  int flow_ = 0;
};

}  // namespace ringscope::test

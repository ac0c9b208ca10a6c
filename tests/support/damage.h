// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>

#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"

namespace ringscope::test {

/// Returns a copy of a file's bytes with damage number `i`. Up to seven bytes are changed. Some
/// numbers also cut the end off, or insert text that opens levels. The first 40 bytes, by which
/// formats are known, stay.
inline std::string damagedBytes(const std::string& whole, int i) {
  constexpr std::size_t kKept = 40;
  std::mt19937 random(static_cast<unsigned>(i) + 1);
  const auto place = [&](const std::string& bytes) {
    return kKept + random() % (bytes.size() - kKept);
  };
  std::string damaged = whole;
  for (int change = 0; change < 1 + i % 7; ++change)
    damaged[place(damaged)] = static_cast<char>(random());
  if (i % 7 == 0) damaged.insert(place(damaged), std::string(5000, "[{\"1"[i % 4]));
  if (i % 5 == 0) damaged.resize(place(damaged));
  return damaged;
}

/// How many damaged copies of a file opened, and how many were rejected.
struct DamageCounts {
  int opened = 0, rejected = 0;
};

/// Opens 500 damaged copies in the place of the file at `path`, and reads every event of those that
/// open. Expects a sentence that names the file from the others.
inline DamageCounts openDamaged(const std::string& path) {
  const std::string whole = traces::readFile(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  DamageCounts counts;
  for (int i = 0; i < 500; ++i) {
    std::ofstream(path, std::ios::binary) << damagedBytes(whole, i);
    try {
      const auto trace = traces::openTrace(path);
      std::size_t events = 0;
      for (int rank = 0; rank < trace->worldSize(); ++rank)
        for (const traces::Event& event : trace->events(traces::WorldRank::of(rank)))
          events += event.end_ns >= event.begin_ns ? 1 : 0;
      EXPECT_EQ(events, trace->eventCount()) << name << " " << i;
      ++counts.opened;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInput) << i << error.what();
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      ++counts.rejected;
    }
  }
  return counts;
}

}  // namespace ringscope::test

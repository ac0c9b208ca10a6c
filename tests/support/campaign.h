// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace ringscope::test {

/// The random cases of a test. By default a test runs a small sample. scripts/campaign runs any
/// number of cases in parallel, with RINGSCOPE_CASES=FIRST:COUNT:SEED. Each case has a generator of
/// its own, so any case can be repeated alone.
/// For example:
///
///     for (test::Campaign campaign(6, 7); campaign.next();) {
///       SCOPED_TRACE(campaign.text());
///       …campaign.random()…
///     }
///
/// The cases that ran and the largest figures become properties of the test.
class Campaign {
 public:
  Campaign(int sample, unsigned seed) : end_(sample), seed_(seed) {
    const char* asked = std::getenv("RINGSCOPE_CASES");
    int count = 0;
    if (!asked) return;
    if (std::sscanf(asked, "%d:%d:%u", &first_, &count, &seed_) != 3 || count < 1)
      throw std::invalid_argument("RINGSCOPE_CASES is FIRST:COUNT:SEED");
    case_ = first_ - 1;
    end_ = first_ + count;
  }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;
  ~Campaign() {
    testing::Test::RecordProperty("cases", case_ - first_);
    for (const auto& [name, value] : largest_)
      testing::Test::RecordProperty("largest_" + name, std::to_string(value));
  }

  /// Moves to the next case. Returns false after the last case, or once a case has failed.
  bool next() {
    ++case_;
    if (case_ >= end_ || testing::Test::HasFailure()) return false;
    std::seed_seq both{seed_, static_cast<unsigned>(case_)};
    random_.seed(both);
    return true;
  }
  std::mt19937& random() { return random_; }
  /// Returns the number of the case from 0, for a test that iterates over several kinds.
  std::size_t number() const { return static_cast<std::size_t>(case_); }
  unsigned seed() const { return seed_; }
  std::string text() const {
    return "case " + std::to_string(case_) + " of seed " + std::to_string(seed_);
  }
  /// Keeps the largest value of a figure over all cases.
  void largest(const std::string& figure, double value) {
    const auto [known, added] = largest_.try_emplace(figure, value);
    if (!added) known->second = std::max(known->second, value);
  }
  /// Waits for a random time, so that the next action hits a random moment of concurrent work.
  void anyMoment(std::chrono::microseconds longest) {
    std::this_thread::sleep_for(std::chrono::microseconds(
        std::uniform_int_distribution<std::int64_t>(0, longest.count())(random_)));
  }

 private:
  int first_ = 0, case_ = -1, end_ = 0;
  unsigned seed_ = 0;
  std::mt19937 random_;
  std::map<std::string, double> largest_;
};

}  // namespace ringscope::test

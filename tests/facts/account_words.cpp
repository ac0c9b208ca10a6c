// SPDX-License-Identifier: Apache-2.0
// Words that accounts of a step say of hardware and of hidden communication.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/facts/own_clock_facts.h"
#include "tests/facts/said.h"
#include "tests/facts/timeline_facts.h"

namespace ringscope::facts {
namespace {

/// "31.5", "1,170": three digits.
bool saysFigure(std::string said, double value) {
  std::erase(said, ',');
  return saysSignificant(said, value, 3);
}

}  // namespace

void expectHardware(const std::string& says, const traces::Hardware& hardware) {
  static const std::regex kWords(
      "(?:a link of (?:([\\d.,]+) GB/s|endless bandwidth) and ([\\d.,]+) µs|(.*?))( without "
      "overlap)?"
      "(?:, (.+) at ([\\d.,]+) % of its peak \\(compute ×([\\d.,]+)\\)|, compute ×([\\d.,]+))?"
      "(?:, at least (?:([\\d.,]+) µs per kernel)?(?: and )?(?:([\\d.,]+) µs per transfer)?)?,?");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(says, words, kWords)) << says;
  const auto presets = traces::linkPresets();
  const bool named = std::ranges::any_of(
      presets, [&](const auto& preset) { return preset.value == hardware.link; });
  EXPECT_EQ(words[3].matched, named) << says;
  if (named) {
    EXPECT_EQ(words[3], hardware.link.name);
  } else {
    const double bandwidth = hardware.link.gigabytes_per_second;
    EXPECT_EQ(words[1].matched, bandwidth > 0) << says << ": 0 stands for endless";
    EXPECT_TRUE(!words[1].matched || saysFigure(words[1], bandwidth)) << says;
    EXPECT_TRUE(saysFigure(words[2], hardware.link.latency_us)) << says;
  }
  EXPECT_EQ(words[4].matched, !hardware.overlap) << says;
  EXPECT_EQ(words[5].matched, hardware.device.has_value()) << says;
  if (words[5].matched) {
    EXPECT_EQ(words[5], hardware.device->name);
    EXPECT_TRUE(saysFigure(words[6], 100 * hardware.device->efficiency)) << says;
    EXPECT_TRUE(saysFigure(words[7], hardware.compute_scale)) << says;
  } else {
    EXPECT_EQ(words[8].matched, hardware.compute_scale != 1) << says;
    EXPECT_TRUE(!words[8].matched || saysFigure(words[8], hardware.compute_scale)) << says;
  }
  EXPECT_EQ(words[9].matched, hardware.floors.kernel_us > 0) << says;
  EXPECT_TRUE(!words[9].matched || saysFigure(words[9], hardware.floors.kernel_us)) << says;
  EXPECT_EQ(words[10].matched, hardware.floors.collective_us > 0) << says;
  EXPECT_TRUE(!words[10].matched || saysFigure(words[10], hardware.floors.collective_us)) << says;
}

void expectHiddenShare(const viz::StepAccount& account) {
  const viz::Exposure all = account.exposure();
  const auto share = all.hiddenShare();
  EXPECT_EQ(share.has_value(), all.underWayNs() > 0);
  if (account.timed && all.underWayNs() > 0) {
    EXPECT_TRUE(account.sentence.starts_with(traces::hiddenWords(all))) << account.sentence;
    EXPECT_GE(*share, 0);
    EXPECT_LE(*share, 1);
  }
}

void expectCaveat(const traces::Trace& trace, const viz::StepAccount& account) {
  const traces::RunSpec* run = trace.run();
  const bool shared = run && run->device == traces::Device::kCpu && run->cores > 0 &&
                      run->dp * run->tp * run->cp > run->cores;
  EXPECT_EQ(account.shared_cores, shared);
  EXPECT_EQ(account.caveat.empty(), !(shared && account.timed));
  if (account.caveat.empty()) return;
  std::smatch words;
  ASSERT_TRUE(std::regex_match(
      account.caveat, words,
      std::regex("As recorded: ([\\d,]+) virtual ranks? take turns on ([\\d,]+) cores?, so waits "
                 "and overlap are the scheduler's, not a cluster's\\.")))
      << "no oracle knows this sentence";
  EXPECT_TRUE(saysCount(words[1], run->dp * run->tp * run->cp));
  EXPECT_TRUE(saysCount(words[2], run->cores));
}

}  // namespace ringscope::facts

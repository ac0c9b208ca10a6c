// SPDX-License-Identifier: Apache-2.0
// Checks the sentence of a finding about its layer, or about a number of its step, computed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "tests/facts/rule_facts.h"

namespace ringscope::facts {
namespace {

std::size_t proofAt(const std::string& evidence) {
  return std::min(evidence.find(" Computed again"), evidence.find(" Made again"));
}

/// Checks the proof for a layer: it names one number, which the oracle computes as well.
void expectLayer(const Case& c, const traces::Finding& finding, const std::string& proof) {
  static const std::regex kProof(
      "Computed again in fp64, the layer is what this mistake gives, within (\\S+)× what rounding "
      "explains; what was meant is off by .*× \\((\\w+) at token (\\d+), head (\\d+), batch entry "
      "(\\d+), element (\\d+): recorded (\\S+), as it should be (\\S+), with this mistake "
      "(\\S+)\\)\\.");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(proof, words, kProof)) << proof;
  const double recorded = std::stod(words[7]), meant = std::stod(words[8]),
               mistaken = std::stod(words[9]);
  EXPECT_LE(std::stod(words[1]), 1);
  EXPECT_LT(std::abs(recorded - mistaken), std::abs(recorded - meant)) << proof;
  const int group = finding.rank.value() / c.cp;
  const PlanOracle& oracle = c.oracle(finding.place.train_step, group);
  const auto numbers = c.numbers(finding.place.train_step, finding.place.layer.value(), group);
  const int token = std::stoi(words[3]), head = std::stoi(words[4]), batch = std::stoi(words[5]);
  ASSERT_LT(token, oracle.plan().length);
  if (words[2] != "out" || words[6] != "0" || !numbers || !numbers->sinks.empty()) return;
  std::vector<int> keys(static_cast<std::size_t>(oracle.plan().length));
  std::iota(keys.begin(), keys.end(), 0);
  EXPECT_NEAR(meant, attend(oracle, *numbers, batch, head, token, keys).out, 5 * c.tolerance);
}

/// Checks the proof for the loss or the norm: the logged number is nearer to the mistake's result.
void expectNumber(const std::string& proof) {
  static const std::regex kProof(
      "Computed again in fp64, the logged \\w+ is what this mistake gives, within (\\S+)× what "
      "rounding explains; what was meant is off by .*× \\(logged (\\S+), as it should be (\\S+), "
      "with this mistake ([^,)]+).*\\)\\.");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(proof, words, kProof)) << proof;
  EXPECT_LE(std::stod(words[1]), 1);
  if (words[2] == words[4]) return;  // both may be NaN
  const double logged = std::stod(words[2]);
  EXPECT_LT(std::abs(logged - std::stod(words[4])), std::abs(logged - std::stod(words[3])));
}

/// Checks the proof for a gradient, whose differences are shares of its size.
void expectGradient(const std::string& proof) {
  static const std::regex kProof(
      "Computed again in fp64, the gradient of \\S+ is what this mistake gives, within (\\S+)× "
      "what "
      "rounding explains; what was meant is off by .*× \\((\\S+) % of its size, with this mistake "
      "(\\S+) %.*\\)\\.");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(proof, words, kProof)) << proof;
  EXPECT_LE(std::stod(words[1]), 1);
  EXPECT_LT(std::stod(words[3]), std::stod(words[2]));
}

/// Checks the proof for labels, which counts the labels on all ranks of each sequence.
void expectLabels(const Case& c, const traces::Finding& finding, const std::string& proof) {
  static const std::regex kProof(
      "Made again from the recorded tokens, all of ([\\d,]+) labels are what this mistake gives, "
      "and "
      "([\\d,]+) of ([\\d,]+) are not the next token of the sequence\\.");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(proof, words, kProof)) << proof;
  const auto number = [&](std::size_t i) {
    std::string digits = words[i];
    std::erase(digits, ',');
    return std::stoll(digits);
  };
  std::int64_t labels = 0;
  for (int group = 0; group < c.groups(); ++group)
    for (int rank = 0; rank < c.cp; ++rank)
      labels += countTargets(c, finding.place.train_step, group, rank);
  EXPECT_EQ(number(1), labels);
  EXPECT_LE(number(2), number(3));
  EXPECT_LE(number(3), number(1));
}

}  // namespace

std::string withoutProof(const std::string& evidence) {
  return evidence.substr(0, proofAt(evidence));
}

void expectProof(const Case& c, const traces::Finding& finding) {
  const auto at = proofAt(finding.evidence);
  if (at == std::string::npos) return;
  const std::string proof = finding.evidence.substr(at + 1);
  if (proof.starts_with("Made again")) return expectLabels(c, finding, proof);
  if (proof.starts_with("Computed again in fp64, the layer")) return expectLayer(c, finding, proof);
  if (proof.starts_with("Computed again in fp64, the gradient")) return expectGradient(proof);
  expectNumber(proof);
}

}  // namespace ringscope::facts

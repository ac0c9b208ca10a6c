// SPDX-License-Identifier: Apache-2.0
// Positions that are read from the keys of a model's first layer.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::findVerdict;

constexpr int kTokens = 8;  // of each of two ranks

/// A key [head_dim 2] of a token, by its id, its place in the shard and its index in the sequence.
using KeyOf = std::function<std::pair<double, double>(int id, int local, int global)>;

std::pair<double, double> rotated(int id, int position) {
  const double angle = 0.3 * id + position, length = 1 + 0.1 * id;
  return {length * std::cos(angle), length * std::sin(angle)};
}

std::string exact(double value) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

/// Returns a recording of ids and keys of two ranks, whose tokens are dealt in order.
std::string recordingOf(const KeyOf& key) {
  const std::vector<int> ids = {1, 2, 3, 1, 4, 2, 5, 3, 1, 2, 4, 1, 4, 3, 5, 2};
  std::string text =
      "note framework \"pytorch\"\nrun command=import cp=2 seq_len=16\ngroup cp 0,1\n"
      "shard input_ids rank=0 tokens=0-8\nshard input_ids rank=1 tokens=8-16\n";
  for (int rank = 0; rank < 2; ++rank) {
    std::string own, keys;
    for (int local = 0; local < kTokens; ++local) {
      const int global = rank * kTokens + local, id = ids[static_cast<std::size_t>(global)];
      const auto [x, y] = key(id, local, global);
      const std::string comma = local == 0 ? "" : ",";
      own += comma + std::to_string(id);
      keys += comma + exact(x) + "," + exact(y);
    }
    const std::string at = " rank=" + std::to_string(rank);
    text += "tensor buffer.input_ids" + at + " shape=1x8 values=" + own + "\n";
    for (const char* tensor : {"q", "k", "v"})
      text += std::string("tensor ") + tensor + at +
              " layer=0 shape=1x1x8x2 dtype=float32 values=" + keys + "\n";
  }
  return text;
}

Verdict verdictFor(const KeyOf& key) {
  return findVerdict("missing_position_ids", recordingOf(key));
}

TEST(KeyPositionsTest, KeysRotatedByThePlaceInTheShardAreFound) {
  EXPECT_EQ(verdictFor([](int id, int local, int) { return rotated(id, local); }), Verdict::kFound);
}

TEST(KeyPositionsTest, KeysRotatedByThePlaceInTheSequenceAreRight) {
  EXPECT_EQ(verdictFor([](int id, int, int global) { return rotated(id, global); }),
            Verdict::kClear);
}

TEST(KeyPositionsTest, EmbeddedPositionsOfTheShardAreFound) {
  const auto embedded = [](int id, int place) {
    return std::pair(std::sin(1.7 * place) + id, std::cos(0.9 * place) - id);
  };
  EXPECT_EQ(verdictFor([&](int id, int local, int) { return embedded(id, local); }),
            Verdict::kFound);
  EXPECT_EQ(verdictFor([&](int id, int, int global) { return embedded(id, global); }),
            Verdict::kNotObservable);
}

TEST(KeyPositionsTest, KeysRotatedByPlacesOfAnotherCutAreFound) {
  // A zigzag would give rank 0 the tokens 0-4 and 12-16, and rank 1 the tokens between.
  const auto zigzag = [](int id, int local, int global) {
    return rotated(id, global < kTokens ? local + (local < 4 ? 0 : 8) : local + 4);
  };
  EXPECT_EQ(findVerdict("balance_differs_between_buffers", recordingOf(zigzag)), Verdict::kFound);
  EXPECT_EQ(verdictFor(zigzag), Verdict::kNotObservable);
  const auto right = [](int id, int, int global) { return rotated(id, global); };
  EXPECT_NE(findVerdict("balance_differs_between_buffers", recordingOf(right)), Verdict::kFound);
}

TEST(KeyPositionsTest, KeysWithoutPositionsTellNothing) {
  EXPECT_EQ(verdictFor([](int id, int, int) { return rotated(id, 0); }), Verdict::kNotObservable);
}

TEST(KeyPositionsTest, KeysOfLaterLayersTellNothing) {
  EXPECT_EQ(
      verdictFor([](int id, int, int global) { return rotated(id * global, 7 * global * id); }),
      Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/names.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "traces/format/core/hash.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/tensor_key.h"

namespace ringscope::traces {
namespace {

TEST(NamesTest, AnEntryOfAListIsFoundByItsNameOrRefusedWithAllNames) {
  struct Entry {
    std::string name;
    int value;
  };
  const std::vector<Entry> entries = {{"one", 1}, {"two", 2}, {"three", 3}};
  auto name_of = [](const Entry& entry) { return entry.name; };
  EXPECT_EQ(&entryNamed("number", "two", entries, name_of), &entries[1]);
  EXPECT_ERROR(entryNamed("number", "four", entries, name_of), ErrorCode::kUsage,
               "there is no number 'four'; use one, two or three");
}

TEST(NamesTest, EveryValueIsFoundByItsName) {
  for (const std::string& text : allNames<Strategy>()) EXPECT_EQ(name(parse<Strategy>(text)), text);
  EXPECT_EQ(findByName<Balance>("striped"), Balance::kStriped);
  EXPECT_FALSE(findByName<Balance>("stripes"));
}

TEST(NamesTest, RejectsAnUnknownNameWithTheKnownOnes) {
  EXPECT_ERROR(parse<Strategy>("torus"), ErrorCode::kUsage,
               "there is no strategy 'torus'; use ring, all_gather, ulysses or hybrid");
}

TEST(TensorNameTest, ANameIsReadAsItIsWritten) {
  for (const std::string text :
       {"q", "block_lse", "position_ids", "buffer.labels", "grad.model.layers.0.mlp.up_proj.weight",
        "weight.lm_head.weight", "multiple.out", "buffer", "something else"})
    EXPECT_EQ(TensorName::of(text).text(), text);
  EXPECT_EQ(TensorName::of("grad.lm_head.weight"),
            (TensorName{TensorKind::kGradient, "lm_head.weight"}));
  EXPECT_EQ(TensorName::of("q.1").kind, TensorKind::kOther);
}

TEST(TensorKeyTest, KeysThatDifferInOneFieldAreOrdered) {
  TensorKey key{{TensorKind::kBlockOut}, {0, Layer::of(1), Direction::kForward, RingStep::of(0)}};
  std::vector<TensorKey> others(7, key);
  others[0].tensor.kind = TensorKind::kBlockLse;
  others[1].microbatch = 1;
  others[2].pass = Pass::kRecompute;
  others[3].rank = WorldRank::of(1);
  others[4].source_rank = WorldRank::of(1);
  others[5].piece = PieceIndex::of(0);
  others[6].tensor.name = "x";
  for (const TensorKey& other : others) {
    EXPECT_NE(keyBefore(key, other), keyBefore(other, key)) << describe(other);
    EXPECT_FALSE(key == other);
  }
}

TEST(HashTest, MixSumIsWhatItsDefinitionSays) {
  // Two words, computed by hand in 64-bit arithmetic.
  const std::uint32_t words[] = {1, 0xFFFFFFFF};
  auto mixed = [](std::uint64_t word, std::uint64_t place) {
    std::uint64_t x = word * 0x9e3779b97f4a7c15ULL + place * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 32)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 29);
  };
  EXPECT_EQ(mixSum64(words, 8), mixed(1, 1) + mixed(0xFFFFFFFF, 2) + 8 * 0xd6e8feb86659fd93ULL);
}

/// The results of test_hashing.py's word-by-word sums for `size` bytes of a linear congruential
/// generator.
TEST(HashTest, TheRecordersHashesAreThoseThatPythonComputed) {
  struct Case {
    std::size_t size;
    std::uint64_t dots, grid;
  };
  for (const Case& of : {Case{0, 0, 0}, Case{5, 0xda97f153a4fe7f67, 0xda97f153a4fe7f67},
                         Case{8, 0x1fbd16be89b6c620, 0x1fbd16be89b6c620},
                         Case{1001, 0x9bcb6d9ab3a32dff, 0x9bcb6d9ab3a32dff},
                         Case{65536, 0xfdb2c839a3e66bd7, 0xfdb2c839a3e66bd7},
                         Case{65544, 0xb53cd9d78b4ea50b, 0x7ae5a16438dd11f7},
                         Case{65549, 0x7799077e6a7ff915, 0x1e39824f3a4e0cd9},
                         Case{200003, 0xacb3df3defa5833a, 0xf4a7717560db8653}}) {
    std::vector<unsigned char> bytes(of.size);
    std::uint32_t state = 1;
    for (unsigned char& byte : bytes)
      byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
    EXPECT_EQ(dotSum64(bytes.data(), bytes.size()), of.dots) << of.size;
    EXPECT_EQ(gridSum64(bytes.data(), bytes.size()), of.grid) << of.size;
  }
}

TEST(HashTest, OrderLengthAndEveryBitCount) {
  std::vector<std::uint8_t> bytes(37, 0);
  const auto zeros = mixSum64(bytes.data(), bytes.size());
  EXPECT_NE(zeros, mixSum64(bytes.data(), 36));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_NE(mixSum64(bytes.data(), bytes.size()), zeros) << bit;
    bytes[bit / 8] = 0;
  }
  const std::uint32_t forward[] = {1, 2}, backward[] = {2, 1};
  EXPECT_NE(mixSum64(forward, 8), mixSum64(backward, 8));
}

}  // namespace
}  // namespace ringscope::traces

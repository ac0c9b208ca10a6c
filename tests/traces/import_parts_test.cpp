// SPDX-License-Identifier: Apache-2.0
// Gradients and weights of a recorded job that ranks hold in parts, as with FSDP2.
#include <gtest/gtest.h>

#include <array>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/hash.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::hex;
using test::kRankFiles;

constexpr std::array<float, 6> kWhole{1, -2, 3, 4, 5, 9};

/// A recording of two ranks with an additional gradient [3, 2] named cut.weight: rank 0 has its
/// first two rows, rank 1 the last.
class CopyInParts : public test::RecordingCopy {
 public:
  CopyInParts() {
    add(0, 0, 2, R"({"min":-2.0,"max":4.0,"mean":1.5,"abs_max":4.0,"nan":0,"inf":0})");
    add(1, 2, 1, R"({"min":5.0,"max":9.0,"mean":7.0,"abs_max":9.0,"nan":0,"inf":0})");
  }

 private:
  void add(std::size_t rank, std::size_t begin, std::size_t rows, const std::string& stats) const {
    const auto sum_to = [](std::size_t row) {
      const std::size_t size = row * 2 * sizeof(float);
      return dotSum64(kWhole.data(), size) - hashOfWhole(0, size);
    };
    const std::uint64_t share = sum_to(begin + rows) - sum_to(begin);
    std::string all = text(kRankFiles[rank]);
    all.insert(
        all.rfind(R"({"line":"end")"),
        R"({"line":"tensor","id":90000,"what":"grad","name":"cut.weight","step":0,"microbatch":0,)"
        R"("layer":null,"pass":"forward","dtype":"float32","shape":[)" +
            std::to_string(rows) + R"(,2],"hash":"0000000000000000","stats":)" + stats +
            R"(,"part":{"of":[3,2],"begin":)" + std::to_string(begin) +
            R"(,"ranks":[0,1],"hash":")" + hex(share) + "\"}}\n" +
            R"x({"line":"placed","what":"grad","name":"cut.weight","placements":["S(0)"]})x"
            "\n");
    put(kRankFiles[rank], all);
  }
};

const TensorRecord* gradient(const Trace& trace, int rank) {
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.rank == WorldRank::of(rank) && tensor.tensor.name == "cut.weight") return &tensor;
  return nullptr;
}

bool saysPartsAreMissing(const Trace& trace) {
  return test::anySays(trace.problems(), "of gradients or weights");
}

TEST(ImportParts, RanksGetTheWholeOfWhatTheyRecordedInParts) {
  const CopyInParts copy;
  const auto trace = openTrace(copy.path());
  for (const int rank : {0, 1}) {
    const TensorRecord* whole = gradient(*trace, rank);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->shape, (std::vector<std::int64_t>{3, 2}));
    EXPECT_EQ(whole->hash, dotSum64(kWhole.data(), sizeof kWhole));
    EXPECT_EQ(whole->stats.min, -2);
    EXPECT_EQ(whole->stats.max, 9);
    EXPECT_NEAR(whole->stats.mean, 20.0 / 6, 1e-12);
  }
  EXPECT_FALSE(saysPartsAreMissing(*trace));
}

TEST(ImportParts, TheHashOfAWholeIsThatToWhichPartsAddUp) {
  const CopyInParts copy;
  EXPECT_EQ(gradient(*openTrace(copy.path()), 0)->hash_algorithm, HashAlgorithm::kDotSum64);
  for (const char* file : kRankFiles)
    copy.change(file, R"("hash":"gridsum64","hash_of_parts":"dotsum64",)", "");
  EXPECT_EQ(gradient(*openTrace(copy.path()), 0)->hash_algorithm, HashAlgorithm::kMixSum64);
}

TEST(ImportParts, LeavesOutAndReportsAPartWithoutTheOtherParts) {
  const CopyInParts copy;
  copy.change(kRankFiles[1], "cut.weight", "another.weight");
  const auto trace = openTrace(copy.path());
  EXPECT_FALSE(gradient(*trace, 0));
  EXPECT_TRUE(saysPartsAreMissing(*trace));
}

TEST(ImportParts, PartsThatDoNotFitTogetherMakeNoWhole) {
  for (const auto& [from, to] :
       {std::pair{R"("begin":2)", R"("begin":1)"}, std::pair{R"("of":[3,2])", R"("of":[4,2])"},
        std::pair{R"("ranks":[0,1],"hash")", R"("ranks":[1,0],"hash")"},
        std::pair{R"("ranks":[0,1],"hash")", R"("ranks":[0,0,1],"hash")"},
        std::pair{R"("shape":[1,2],"hash":"00)", R"("shape":[1,3],"hash":"00)"}}) {
    const CopyInParts copy;
    copy.change(kRankFiles[1], from, to);
    const auto trace = openTrace(copy.path());
    EXPECT_FALSE(gradient(*trace, 0)) << to;
    EXPECT_FALSE(gradient(*trace, 1)) << to;
    EXPECT_TRUE(saysPartsAreMissing(*trace)) << to;
  }
}

}  // namespace
}  // namespace ringscope::traces

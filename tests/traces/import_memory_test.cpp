// SPDX-License-Identifier: Apache-2.0
// The memory that ranks of a recorded job held.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

/// A recording of two ranks without memory samples, except for these lines at the end of the first
/// rank.
class CopyWithMemory : public test::RecordingCopy {
 public:
  explicit CopyWithMemory(const std::string& added) {
    drop("memory");
    std::string all = text(test::kFirstFile);
    put(test::kFirstFile, all.insert(all.rfind(R"({"line":"end")"), added));
  }
};

std::map<MemoryCategory, std::int64_t> last(const Trace& trace) {
  std::map<MemoryCategory, std::int64_t> bytes;
  for (const MemorySample& sample : trace.memory(WorldRank::of(0)))
    bytes[sample.category] = sample.bytes;
  return bytes;
}

/// Returns the trace's statement about memory without a category; empty when there is none.
std::string unseen(const Trace& trace, int rank) {
  const auto& note = trace.note(kUnseenMemoryNote + std::to_string(rank));
  return note.is_string() ? note.get<std::string>() : "";
}

TEST(ImportMemory, CategoriesOfAProcessAreMeasuredAndTheRestIsDescribed) {
  const CopyWithMemory copy(
      R"({"line":"memory","time_ns":900,"held":{"weights":1000},"resident":50000,"recorder":0})"
      "\n"
      R"({"line":"memory","time_ns":1000,"held":{"weights":1000,"gradients":600,"q":10,"kv":40},)"
      R"("resident":52224,"device":null,"recorder":300})"
      "\n");
  const auto trace = openTrace(copy.path());
  const auto held = last(*trace);
  EXPECT_EQ(held.at(MemoryCategory::kWeights), 1000);
  EXPECT_EQ(held.at(MemoryCategory::kGradients), 600);
  EXPECT_EQ(held.at(MemoryCategory::kQ), 10);
  EXPECT_EQ(held.at(MemoryCategory::kKv), 40);
  EXPECT_FALSE(held.contains(MemoryCategory::kOther));
  EXPECT_FALSE(held.contains(MemoryCategory::kActivations));
  EXPECT_TRUE(trace->memory(WorldRank::of(1)).empty());
  EXPECT_EQ(unseen(*trace, 0),
            "Of the 51 KiB that the process had at most, activations and all else are not told "
            "apart.");
  EXPECT_EQ(unseen(*trace, 1), "");
}

TEST(ImportMemory, OtherMemoryOfADeviceIsTheRestOfItsAllocator) {
  const CopyWithMemory copy(
      R"({"line":"memory","time_ns":900,"held":{"weights":1000,"out_lse":50},"resident":50000,)"
      R"("device":{"allocated":5000,"most_allocated":6144,"reserved":8000},"recorder":0})"
      "\n");
  const auto trace = openTrace(copy.path());
  EXPECT_EQ(last(*trace).at(MemoryCategory::kOther), 5000 - 1050);
  EXPECT_EQ(unseen(*trace, 0),
            "Other is what PyTorch's allocator has beyond these, activations too; at most it had "
            "6 KiB, which may be between samples.");
}

TEST(ImportMemory, ReportsUnknownMemory) {
  const CopyWithMemory copy(
      R"({"line":"memory","time_ns":900,"held":{"weights":1000},"resident":null,"device":null})"
      "\n");
  const auto trace = openTrace(copy.path());
  EXPECT_FALSE(last(*trace).contains(MemoryCategory::kOther));
  EXPECT_EQ(unseen(*trace, 0), "Activations and all else that the rank holds are not known.");
}

TEST(ImportMemory, ARecordingWithoutMemoryHasNone) {
  const CopyWithMemory copy("");
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(trace->memory(WorldRank::of(0)).empty());
  EXPECT_EQ(unseen(*trace, 0), "");
}

}  // namespace
}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Profiles of NCCL jobs in the form of PyTorch's profiler, written by hand: no GPU recorded them.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/files.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

/// A rank's file, written event by event.
class NcclProfile {
 public:
  NcclProfile(int rank, int ranks) : rank_(rank) {
    json members = json::array();
    for (int r = 0; r < ranks; ++r) members.push_back(r);
    head_ = {
        {"schemaVersion", 1},
        {"baseTimeNanoseconds", 1'700'000'000'000'000'000},
        {"distributedInfo",
         {{"backend", "nccl"},
          {"rank", rank},
          {"world_size", ranks},
          {"pg_config", {{{"pg_name", "0"}, {"pg_desc", "default_pg"}, {"ranks", members}}}}}}};
    ranks_ = members.dump();
  }

  NcclProfile& step(int number, double begin) {
    return add("user_annotation", "ProfilerStep#" + std::to_string(number), begin, 1000, {});
  }

  /// Adds a call, and its kernel 100 µs later unless `kernel_us` is 0.
  NcclProfile& comm(const std::string& name, double begin, double kernel_us, json more = {}) {
    json args = {{"External id", ++external_}, {"Collective name", name},
                 {"dtype", "BFloat16"},        {"In msg nelems", 1000},
                 {"Process Group Name", "0"},  {"Process Group Ranks", ranks_}};
    if (more.is_object()) args.update(more);
    add("cpu_op", "record_param_comms", begin, 20, args);
    args["stream"] = 7;
    if (kernel_us > 0) add("kernel", "ncclDevKernel", begin + 100, kernel_us, args);
    return *this;
  }

  void write(const std::string& folder) {
    head_["traceEvents"] = events_;
    // The first key identifies the format.
    std::string text = head_.dump();
    std::ofstream(folder + "/rank" + std::to_string(rank_) + ".json")
        << "{\"schemaVersion\": 1," << text.substr(1);
  }

 private:
  NcclProfile& add(const char* category, const std::string& name, double begin, double duration,
                   json args) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"tid", 1},
                       {"ts", begin},
                       {"dur", duration},
                       {"args", args}});
    return *this;
  }

  int rank_, external_ = 0;
  std::string ranks_;
  json head_, events_ = json::array();
};

class ImportNcclProfile : public testing::Test {
 protected:
  ImportNcclProfile() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return dir_.file("profiles"); }
  std::shared_ptr<Trace> open() const { return openTrace(folder()); }

 private:
  test::TempDir dir_;
};

TEST_F(ImportNcclProfile, ACollectiveRunsFromItsCallToTheEndOfItsKernel) {
  for (int rank = 0; rank < 2; ++rank)
    NcclProfile(rank, 2).comm("allreduce", 10, 50).comm("wait", 40, 0).write(folder());
  const auto trace = open();
  const auto events = trace->events(WorldRank::of(1));
  ASSERT_EQ(events.size(), 1U);
  const Event event = *events.begin();
  EXPECT_EQ(event.begin_ns, 0);
  EXPECT_EQ(event.start_ns, 100'000);
  EXPECT_EQ(event.end_ns, 150'000);
  EXPECT_EQ(event.clock, Clock::kDevice);
  EXPECT_EQ(event.queue, 1);
  EXPECT_EQ(event.bytes, 2000);
  EXPECT_EQ(importedFrom(*trace)->collectives, 1);
}

TEST_F(ImportNcclProfile, MessagesHaveTheRanksThatTheyName) {
  NcclProfile(0, 2).comm("send", 10, 50, {{"Dst Rank", 1}}).write(folder());
  NcclProfile(1, 2).comm("recv", 12, 50, {{"Src Rank", 0}}).write(folder());
  const auto trace = open();
  EXPECT_EQ(importedFrom(*trace)->messages, 1);
  EXPECT_EQ((*trace->events(WorldRank::of(0)).begin()).peer, WorldRank::of(1));
}

TEST_F(ImportNcclProfile, MatchesPerTrainingStepWhenNumbersOfCallsDiffer) {
  NcclProfile(0, 2)
      .step(4, 0)
      .comm("allreduce", 10, 5)
      .step(5, 2000)
      .comm("allreduce", 2010, 5)
      .write(folder());
  NcclProfile(1, 2).step(5, 2000).comm("allreduce", 2010, 5).write(folder());
  const auto trace = open();
  const auto imported = importedFrom(*trace);
  EXPECT_EQ(imported->collectives, 1);
  EXPECT_EQ(imported->unmatched_collectives, 1);
  const auto first = trace->events(WorldRank::of(0)), other = trace->events(WorldRank::of(1));
  EXPECT_EQ((*std::next(first.begin())).flow, (*other.begin()).flow);
  EXPECT_NE((*first.begin()).flow, (*other.begin()).flow);
}

TEST_F(ImportNcclProfile, NumbersOfCollectivesGoBeforeTheirOrder) {
  NcclProfile(0, 2)
      .comm("allreduce", 10, 5, {{"Seq", 7}})
      .comm("allreduce", 200, 5, {{"Seq", 8}})
      .write(folder());
  NcclProfile(1, 2).comm("allreduce", 200, 5, {{"Seq", 8}}).write(folder());
  const auto trace = open();
  const auto first = trace->events(WorldRank::of(0)), other = trace->events(WorldRank::of(1));
  EXPECT_EQ((*std::next(first.begin())).flow, (*other.begin()).flow);
  EXPECT_NE((*first.begin()).flow, (*other.begin()).flow);
}

TEST_F(ImportNcclProfile, RanksThatCalledSomethingElseAreNamed) {
  NcclProfile(0, 2).comm("allreduce", 10, 5).write(folder());
  NcclProfile(1, 2).comm("broadcast", 10, 5).write(folder());
  const auto imported = importedFrom(*open());
  EXPECT_EQ(imported->collectives, 0);
  EXPECT_EQ(imported->unmatched_collectives, 2);
  EXPECT_TRUE(std::ranges::any_of(imported->lacks, [](const std::string& lack) {
    return lack.find("rank 0 called all_reduce where rank 1 called broadcast") != lack.npos;
  }));
}

TEST_F(ImportNcclProfile, WithoutKernelsItSaysThatOnlyTheCallIsKnown) {
  for (int rank = 0; rank < 2; ++rank)
    NcclProfile(rank, 2).comm("allreduce", 10, 0).write(folder());
  const auto imported = importedFrom(*open());
  EXPECT_EQ(imported->collectives, 1);
  EXPECT_TRUE(std::ranges::any_of(imported->lacks, [](const std::string& lack) {
    return lack.find("kernels of collectives were not profiled") != lack.npos;
  }));
}

TEST(Spelling, IsOneForEveryNameOfACollective) {
  for (const char* name : {"c10d::_allgather_base_", "gloo:all_gather", "nccl:_all_gather_base",
                           "allgather_into_tensor_coalesced"})
    EXPECT_EQ(callName(name), "all_gather") << name;
  EXPECT_EQ(callName("c10d::_reduce_scatter_base_"), "reduce_scatter");
  EXPECT_EQ(callName("c10d::reduce_"), "reduce");
  EXPECT_EQ(callName("nccl:all_reduce_barrier"), "barrier");
  EXPECT_EQ(callName("nccl:recv 3<-0"), "recv");
  EXPECT_EQ(callName("wait"), "");
  EXPECT_EQ(elementBytes("c10::BFloat16"), 2);
  EXPECT_EQ(elementBytes("Undefined"), 0);
}

}  // namespace
}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Conformance of a transport: what every c10d backend used by the Communicator must do.
#include "engine/transport/local_backend.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/plan.h"
#include "engine/transport/communicator.h"
#include "tests/support/campaign.h"
#include "tests/support/expect_error.h"
#include "traces/format/core/clock.h"

namespace ringscope::engine {
namespace {

using std::chrono::milliseconds;

constexpr GroupRank kFirst = GroupRank::of(0), kSecond = GroupRank::of(1);

/// Runs `body` on one thread per rank. Returns the error of each rank.
std::vector<std::string> onRanks(int ranks, const std::function<void(Communicator&)>& body,
                                 milliseconds timeout = milliseconds(5000)) {
  auto world = std::make_shared<LocalWorld>(ranks);
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      Communicator cp(c10::make_intrusive<LocalBackend>(GroupRank::of(r), ranks, world, timeout));
      try {
        body(cp);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(r)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return errors;
}

TEST(LocalBackendTest, ARingExchangeDeliversTheNeighboursTensorByOneCopy) {
  for (const std::int64_t size : {0, 1, 1000, 1 << 20}) {
    const auto errors = onRanks(4, [&](Communicator& cp) {
      const GroupRank next = roundRing(cp.rank(), 1, 4), previous = roundRing(cp.rank(), -1, 4);
      const at::Tensor mine = at::full({size}, cp.rank().value(), at::kFloat);
      at::Tensor theirs = at::empty({size});
      const void* storage = theirs.data_ptr();
      auto exchange = cp.exchange({{mine, next}}, {{theirs, previous}});
      const auto reports = exchange.wait();
      ASSERT_EQ(reports.size(), 2u);
      EXPECT_TRUE((theirs == previous.value()).all().item<bool>());
      EXPECT_EQ(theirs.data_ptr(), storage);
      EXPECT_TRUE(size == 0 || theirs.data_ptr() != mine.data_ptr());
      for (const auto& report : reports) EXPECT_EQ(report.bytes, size * 4);
    });
    for (const auto& error : errors) EXPECT_EQ(error, "");
  }
}

/// The copy is made when both sides have arrived, however early the first one posted.
TEST(LocalBackendTest, AMessageBeginsToMoveWhenItIsCopied) {
  std::atomic<bool> posted = false;
  std::atomic<std::int64_t> came = 0;  // time when the second rank arrives, after the first has
                                       // posted
  const auto errors = onRanks(2, [&](Communicator& cp) {
    const bool first = cp.rank() == kFirst;
    const GroupRank other = first ? kSecond : kFirst;
    const at::Tensor mine = at::ones({1000});
    at::Tensor theirs = at::empty({1000});
    while (!first && !posted) std::this_thread::yield();
    if (!first) came = traces::steadyNow();
    auto exchange = cp.exchange({{mine, other}}, {{theirs, other}});
    posted = true;
    for (const auto& report : exchange.wait()) {
      EXPECT_EQ(report.begin_ns < came, first);
      EXPECT_GE(report.start_ns, came);
      EXPECT_GE(report.end_ns, report.start_ns);
    }
  });
  for (const auto& error : errors) EXPECT_EQ(error, "");
}

TEST(LocalBackendTest, BothSidesOfAMessageHaveTheSameFlow) {
  std::vector<std::vector<TransferReport>> reports(2);
  onRanks(2, [&](Communicator& cp) {
    const GroupRank other = roundRing(cp.rank(), 1, 2);
    for (int i = 0; i < 3; ++i) {
      at::Tensor a = at::zeros({4}), b = at::empty({4});
      auto part = cp.exchange({{a, other}}, {{b, other}});
      for (auto& r : part.wait()) reports[cp.rank().index()].push_back(r);
    }
  });
  std::map<std::uint64_t, int> sides;
  for (const auto& of_rank : reports)
    for (const auto& r : of_rank) ++sides[r.flow];
  EXPECT_EQ(sides.size(), 6u);
  for (const auto& [flow, count] : sides) EXPECT_EQ(count, 2);
}

TEST(LocalBackendTest, SumsAreReducedInRankOrderOnEveryRank) {
  const std::vector<float> parts = {1e8f, 1.0f, -1e8f, 1.0f};  // values for which the order of
                                                               // addition matters
  const float in_order = ((parts[0] + parts[1]) + parts[2]) + parts[3];
  for (int round = 0; round < 20; ++round)
    for (const auto& error : onRanks(4, [&](Communicator& cp) {
           at::Tensor t = at::full({7}, parts[cp.rank().index()]);
           cp.allReduceSum(t, traces::Payload::kScalars);
           EXPECT_TRUE((t == in_order).all().item<bool>());
         }))
      EXPECT_EQ(error, "");
}

TEST(LocalBackendTest, AllGatherPutsRanksInOrder) {
  auto world = std::make_shared<LocalWorld>(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      LocalBackend backend(GroupRank::of(r), 3, world, milliseconds(5000));
      at::Tensor in = at::full({2}, r, at::kFloat), out = at::empty({6});
      backend._allgather_base(out, in, c10d::AllgatherOptions());
      EXPECT_TRUE(at::equal(out, at::tensor({0.f, 0.f, 1.f, 1.f, 2.f, 2.f})));
    });
  for (auto& thread : threads) thread.join();
}

TEST(LocalBackendTest, AnAbortLeavesTensorsToWhoeverStillReducesThem) {
  for (test::Campaign campaign(30, 3); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    auto world = std::make_shared<LocalWorld>(3);
    std::vector<std::thread> threads;
    for (int r = 0; r < 3; ++r)
      threads.emplace_back([&world, r] {
        Communicator cp(
            c10::make_intrusive<LocalBackend>(GroupRank::of(r), 3, world, milliseconds(5000)));
        try {
          for (;;) {  // large, so that its memory is returned to the system and a later access
                      // fails
            at::Tensor mine = at::ones({1 << 20});
            cp.allReduceSum(mine, traces::Payload::kGrads);
          }
        } catch (const Error&) {
        }
      });
    campaign.anyMoment(milliseconds(15));
    world->mailbox.abort("another rank failed");
    for (auto& thread : threads) thread.join();
  }
}

TEST(LocalBackendTest, MisuseThrowsInsteadOfHanging) {
  const auto shapes = onRanks(2, [](Communicator& cp) {
    at::Tensor t = at::zeros({cp.rank().value() + 1});
    cp.allReduceSum(t, traces::Payload::kScalars);
  });
  EXPECT_NE(shapes[0].find("different shapes"), std::string::npos) << shapes[0];
  const auto silent = onRanks(
      2,
      [](Communicator& cp) {
        at::Tensor t = at::zeros({4});
        if (cp.rank() == kFirst) cp.exchange({}, {{t, kSecond}}).wait();
      },
      milliseconds(30));
  EXPECT_NE(silent[0].find("waited 30 ms for rank 1"), std::string::npos) << silent[0];
  const auto strided = onRanks(1, [](Communicator& cp) {
    at::Tensor t = at::zeros({4, 4}).t();
    cp.exchange({{t, kFirst}}, {}).wait();
  });
  EXPECT_NE(strided[0].find("contiguous"), std::string::npos) << strided[0];
}

}  // namespace
}  // namespace ringscope::engine

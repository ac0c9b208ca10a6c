// SPDX-License-Identifier: Apache-2.0
// Conformance: what every transport between threads must do.
#include "engine/transport/transport.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine/parallel/gather.h"
#include "engine/progress/progress_board.h"
#include "engine/transport/group.h"
#include "tests/support/eventually.h"
#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

using std::chrono::milliseconds;

class TransportConformance : public testing::TestWithParam<traces::TransportKind> {
 protected:
  static constexpr int kMostRanks = 4;

  void SetUp() override {
    for (const TransportEntry& entry : transports())
      if (entry.kind == GetParam()) moves_cpu_ = entry.moves_cpu;
    try {
      checkTransport(GetParam(), moves_cpu_ ? traces::Device::kCpu : traces::Device::kCuda,
                     kMostRanks);
    } catch (const Error& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
  /// Returns options for tensors that the transport can move, on the calling rank's device.
  at::TensorOptions on(const Communicator& cp, at::ScalarType type = at::kFloat) const {
    if (moves_cpu_) return at::TensorOptions(type);
    return at::TensorOptions(type).device(at::kCUDA, gpuOfRank(GetParam(), cp.rank()));
  }
  /// Runs `body` on one thread per rank. Returns the error of each rank.
  std::vector<std::string> onRanks(int ranks, const std::function<void(Communicator&)>& body,
                                   milliseconds timeout = milliseconds(10000)) {
    const auto transport = threadTransport(GetParam(), timeout);
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        try {
          Communicator cp(transport->makeBackend("all", GroupRank::of(r), ranks));
          body(cp);
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(r)] = error.what();
          transport->abort("rank " + std::to_string(r) + " is gone");
        }
      });
    for (auto& thread : threads) thread.join();
    return errors;
  }
  void fine(const std::vector<std::string>& errors) {
    for (const auto& error : errors) EXPECT_EQ(error, "");
  }

 private:
  bool moves_cpu_ = true;
};

TEST_P(TransportConformance, ARingDeliversEverySizeFromNothingTo64MiB) {
  for (const std::int64_t bytes : {0, 1, 4096, 1 << 20, 64 << 20})
    fine(onRanks(bytes > 1 << 20 ? 2 : 4, [&](Communicator& cp) {
      const GroupRank next = roundRing(cp.rank(), 1, cp.size()),
                      previous = roundRing(cp.rank(), -1, cp.size());
      const at::Tensor mine = at::full({bytes}, cp.rank().value() + 1, on(cp, at::kByte));
      at::Tensor theirs = at::zeros({bytes}, on(cp, at::kByte));
      cp.exchange({{mine, next}}, {{theirs, previous}}).wait();
      EXPECT_TRUE((theirs == previous.value() + 1).all().item<bool>()) << bytes;
    }));
}

TEST_P(TransportConformance, MessagesBetweenTwoRanksKeepTheirOrder) {
  fine(onRanks(2, [this](Communicator& cp) {
    const GroupRank other = roundRing(cp.rank(), 1, 2);
    std::vector<at::Tensor> sent, received;
    std::vector<Exchange> all;
    for (int i = 0; i < 50; ++i) {
      sent.push_back(at::full({1 + i % 7}, cp.rank().value() * 100 + i, on(cp, at::kInt)));
      received.push_back(at::zeros_like(sent.back()));
      all.push_back(cp.exchange({{sent[static_cast<std::size_t>(i)], other}},
                                {{received[static_cast<std::size_t>(i)], other}}));
    }
    for (auto& exchange : all) exchange.wait();
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(received[static_cast<std::size_t>(i)][0].item<int>(), other.value() * 100 + i);
  }));
}

TEST_P(TransportConformance, ConcurrentTrafficBetweenAllPairsArrivesWhole) {
  fine(onRanks(4, [this](Communicator& cp) {
    Group group(cp, everyRank(4));
    const int rank = cp.rank().value();
    for (int round = 0; round < 20; ++round) {
      std::vector<at::Tensor> sends, receives;
      for (int r = 0; r < 4; ++r) {
        sends.push_back(at::full({1000 + r}, rank * 10 + r, on(cp)));
        receives.push_back(at::zeros({1000 + rank}, on(cp)));
      }
      group.allToAll(sends, receives).wait();
      for (int r = 0; r < 4; ++r)
        EXPECT_TRUE((receives[static_cast<std::size_t>(r)] == r * 10 + rank).all().item<bool>());
    }
  }));
}

TEST_P(TransportConformance, GatheredTensorsAreNotChangedByRanksThatContinue) {
  fine(onRanks(4, [this](Communicator& cp) {
    at::Tensor small = at::full({3}, cp.rank().value(), on(cp));
    at::Tensor large = at::full({100000}, 10 + cp.rank().value(), on(cp));
    const auto all = gatherToFirst(cp, std::vector<at::Tensor>{small, large});
    small.fill_(-1);
    large.fill_(-1);
    cp.barrier();
    ASSERT_EQ(all.size(), cp.rank() == GroupRank::of(0) ? 2u : 0u);
    for (std::size_t t = 0; t < all.size(); ++t)
      for (std::size_t r = 0; r < 4; ++r)
        EXPECT_TRUE((all[t][r] == static_cast<double>(10 * t + r)).all().item<bool>()) << t << r;
  }));
}

TEST_P(TransportConformance, SumsReachEveryRankAlike) {
  fine(onRanks(4, [this](Communicator& cp) {
    at::Tensor t = at::full({1000}, cp.rank().value() + 1.0, on(cp, at::kDouble));
    cp.allReduceSum(t, traces::Payload::kScalars);
    EXPECT_TRUE((t == 10).all().item<bool>());
    cp.barrier();
  }));
}

TEST_P(TransportConformance, AMessageToARankThatIsNotThereThrows) {
  const auto errors = onRanks(2, [this](Communicator& cp) {
    at::Tensor t = at::zeros({4}, on(cp));
    cp.exchange({{t, GroupRank::of(5)}}, {}).wait();
  });
  for (const auto& error : errors) EXPECT_NE(error, "");
}

TEST_P(TransportConformance, APeerThatDiesIsAnErrorAndNotAHang) {
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = onRanks(2, [this](Communicator& cp) {
    if (cp.rank() == GroupRank::of(1)) throw std::runtime_error("died");
    at::Tensor t = at::zeros({4}, on(cp));
    cp.exchange({}, {{t, GroupRank::of(1)}}).wait();
  });
  EXPECT_EQ(errors[1], "died");
  EXPECT_NE(errors[0], "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

TEST_P(TransportConformance, APeerSilentPastTheTimeoutIsAnError) {
  std::atomic<bool> done{false};
  const auto errors = onRanks(
      2,
      [&](Communicator& cp) {
        if (cp.rank() == GroupRank::of(1)) {
          while (!done) std::this_thread::sleep_for(milliseconds(5));
          return;
        }
        at::Tensor t = at::zeros({4}, on(cp));
        struct Release {
          std::atomic<bool>& done;
          ~Release() { done = true; }
        } release{done};
        cp.exchange({}, {{t, GroupRank::of(1)}}).wait();
      },
      milliseconds(300));
  EXPECT_NE(errors[0], "");
}

INSTANTIATE_TEST_SUITE_P(All, TransportConformance,
                         testing::Values(traces::TransportKind::kLocal,
                                         traces::TransportKind::kGloo,
                                         traces::TransportKind::kNccl),
                         [](const auto& name) { return std::string(traces::name(name.param)); });

TEST(TransportTest, TheAwaitedRankIsNamedByItsWorldRank) {
  const auto transport = threadTransport(traces::TransportKind::kLocal, milliseconds(10000));
  const ProgressBoard board(1);
  ProgressSlot& slot = board.slot(traces::WorldRank::of(0));
  at::Tensor tensor = at::ones({4});
  std::thread waits([&] {
    const ProgressReport report(slot);
    Communicator pair(transport->makeBackend("pair", GroupRank::of(0), 2), traces::GroupId::of(1),
                      {traces::WorldRank::of(4), traces::WorldRank::of(6)});
    at::Tensor theirs = at::zeros({4});
    pair.exchange({}, {{theirs, GroupRank::of(1)}}).wait();
  });
  EXPECT_TRUE(test::eventually([&] { return slot.waiting.load().waits; }));
  EXPECT_EQ(slot.waiting.load().peer, traces::WorldRank::of(6));
  Communicator other(transport->makeBackend("pair", GroupRank::of(1), 2));
  other.exchange({{tensor, GroupRank::of(0)}}, {}).wait();
  waits.join();
}

TEST(TransportTest, ProcessesAreNotJoinedByATransportBetweenThreads) {
  EXPECT_ERROR(
      processTransport(traces::TransportKind::kLocal, {}, milliseconds(10), milliseconds(10)),
      ErrorCode::kUsage, "processes need --transport gloo");
}

}  // namespace
}  // namespace ringscope::engine

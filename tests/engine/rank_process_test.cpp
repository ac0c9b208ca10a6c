// SPDX-License-Identifier: Apache-2.0
// Ranks as processes over gloo: the matrix of strategy_test again, and two hosts represented by two
// addresses.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/plan.h"
#include "engine/transport/communicator.h"
#include "engine/transport/gloo_backend.h"
#include "engine/transport/transport.h"
#include "tests/engine/llama_reference.h"
#include "tests/engine/strategy_cases.h"
#include "tests/support/rank_children.h"

namespace ringscope::engine {
namespace {

int worldSize() {
  const char* size = std::getenv("WORLD_SIZE");
  return size ? std::atoi(size) : 0;
}

#define ONLY_IN_A_RANK_PROCESS() \
  if (worldSize() == 0) GTEST_SKIP() << "runs in the processes that RankProcessTest starts"
#define NEEDS_GLOO() \
  if (!hasGloo()) GTEST_SKIP() << "this build has no gloo"

TEST(RankProcess, EveryCombinationEqualsUnshardedAttention) {
  ONLY_IN_A_RANK_PROCESS();
  for (const test::Combination& c : test::combinations()) {
    if (c.cp != worldSize()) continue;
    AttendConfig config = c.config();
    config.transport = traces::TransportKind::kGloo;
    config.launch = traces::Launch::kEnv;
    test::expectEqualsReference(c, config);
  }
}

TEST(RankProcess, EveryMeshTrainsToTheNumbersOfTransformers) {
  ONLY_IN_A_RANK_PROCESS();
  for (const test::MeshCase& c : test::meshCases()) {
    if (c.mesh.worldSize() != worldSize()) continue;
    TrainConfig config = c.config();
    config.transport = traces::TransportKind::kGloo;
    config.launch = traces::Launch::kEnv;
    Gate gate(1);
    const auto outcome = runTraining(config, gate, nullptr);
    if (std::string(std::getenv("RANK")) == "0") test::expectNumbersOfTransformers(outcome);
    if (testing::Test::HasFailure()) FAIL() << c.name();
  }
}

/// Reports whether this machine has a connection whose local side has this address, in /proc's
/// spelling.
bool hasConnectionFrom(const std::string& hexadecimal_address) {
  std::ifstream in("/proc/net/tcp");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return text.find(": " + hexadecimal_address + ":") != std::string::npos;
}

TEST(RankProcess, AHostIsReachedAtItsOwnAddress) {
  ONLY_IN_A_RANK_PROCESS();
  const auto here = RankEnvironment::read(Mesh{1, 1, worldSize()});
  const auto transport = processTransport(traces::TransportKind::kGloo, here,
                                          std::chrono::seconds(20), std::chrono::seconds(20));
  Communicator world(
      transport->makeBackend("all", GroupRank::of(here.rank.value()), here.world_size));
  const GroupRank next = roundRing(world.rank(), 1, world.size()),
                  previous = roundRing(world.rank(), -1, world.size());
  const at::Tensor mine = at::full({1000}, world.rank().value(), at::kLong);
  at::Tensor theirs = at::zeros_like(mine);
  world.exchange({{mine, next}}, {{theirs, previous}}).wait();
  EXPECT_TRUE((theirs == previous.value()).all().item<bool>());
  EXPECT_TRUE(hasConnectionFrom(here.interface_addr == "127.0.0.2" ? "0200007F" : "0100007F"));
  world.barrier();
}

class RankProcessTest : public testing::TestWithParam<int> {};

TEST_P(RankProcessTest, TheWholeMatrixRunsBetweenProcesses) {
  NEEDS_GLOO();
  for (const int status : test::runAsRanks(GetParam(), "RankProcess.EveryCombination*"))
    EXPECT_EQ(status, 0);
}

TEST_P(RankProcessTest, EveryMeshTrainsBetweenProcesses) {
  NEEDS_GLOO();
  for (const int status : test::runAsRanks(GetParam(), "RankProcess.EveryMesh*"))
    EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, RankProcessTest, testing::Values(2, 4, 8),
                         [](const auto& ranks) { return "cp" + std::to_string(ranks.param); });

TEST(RankProcessHostsTest, TwoHostsAreTwoLoopbackAddresses) {
  NEEDS_GLOO();
  const auto statuses = test::runAsRanks(4, "RankProcess.AHost*", [](int rank) {
    ::setenv("RINGSCOPE_INTERFACE", rank < 2 ? "127.0.0.1" : "127.0.0.2", 1);
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ringscope::engine

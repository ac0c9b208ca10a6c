// SPDX-License-Identifier: Apache-2.0
// Recordings over a real ssh connection to this machine.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/expect_error.h"
#include "tests/support/remote_machine.h"
#include "tests/support/run_program.h"
#include "tests/support/ssh_server.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::traces {
namespace {

class RemoteSshTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::SshServer::isInstalled()) GTEST_SKIP() << "openssh-server is not installed";
    server = std::make_unique<test::SshServer>();
    ASSERT_TRUE(server->listens()) << server->log();
    ssh = std::make_unique<test::SetVariable>("RINGSCOPE_SSH", server->client());
  }

  test::RemoteMachine machine;
  std::unique_ptr<test::SshServer> server;
  std::unique_ptr<test::SetVariable> ssh;
};

TEST_F(RemoteSshTest, ARecordingIsTheSameAsItsFile) {
  const auto near = openTrace(test::sampleRecording());
  const auto far = openTrace(server->address(test::sampleRecording()));
  near->readEvents();
  far->readEvents();
  EXPECT_EQ(far->eventCount(), near->eventCount());
  EXPECT_EQ(far->problems(), near->problems());
  ASSERT_EQ(far->tensors().size(), near->tensors().size());
  for (const TensorRecord& tensor : near->tensors())
    EXPECT_TRUE(far->bytes(tensor) == near->bytes(tensor));
}

TEST_F(RemoteSshTest, AFolderOfARecorderIsImportedThere) {
  EXPECT_EQ(openTrace(server->address(test::reference("recording")))->eventCount(),
            openTrace(test::reference("recording"))->eventCount());
}

TEST_F(RemoteSshTest, APathIsOneWordOfTheOtherShell) {
  const std::string path = machine.file("a b'c$(exit 3);`x`*.rscope");
  std::filesystem::copy(test::sampleRecording(), path);
  EXPECT_GT(openTrace(server->address(path))->eventCount(), 0u);
}

TEST_F(RemoteSshTest, AStrangersKeyIsRefusedInOneSentence) {
  const test::SetVariable stranger("RINGSCOPE_SSH", server->client("stranger"));
  EXPECT_ERROR(openTrace(server->address("/x")), ErrorCode::kInput, "127.0.0.1 cannot be reached");
  EXPECT_ERROR(openTrace(server->address("/x")), ErrorCode::kInput, "Permission denied");
}

TEST_F(RemoteSshTest, WhatWasReadStaysWhenTheConnectionIsLost) {
  const auto trace = openTrace(server->address(test::sampleRecording()));
  const auto events = trace->eventsAt(trace->moments().front(), WorldRank::of(0));
  ASSERT_FALSE(events.empty());
  server->endConnections();
  const TensorRecord* with_values = nullptr;
  for (const TensorRecord& tensor : trace->tensors())
    if (tensor.has_values) with_values = &tensor;
  ASSERT_NE(with_values, nullptr);
  EXPECT_ERROR(trace->bytes(*with_values), ErrorCode::kInput, "is lost; open the recording again");
  EXPECT_EQ(trace->eventsAt(trace->moments().front(), WorldRank::of(0)).size(), events.size());
  EXPECT_FALSE(trace->tensors().empty());
}

}  // namespace
}  // namespace ringscope::traces

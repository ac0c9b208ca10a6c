// SPDX-License-Identifier: Apache-2.0
// Servers that break the protocol, stop in the middle, or say nothing; and such readers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/support/child_program.h"
#include "tests/support/expect_error.h"
#include "tests/support/remote_machine.h"
#include "traces/exchange/remote/remote_source.h"
#include "traces/format/storage/memory_source.h"

namespace ringscope::traces {
namespace {

using namespace std::chrono_literals;
using test::RemoteMachine;

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes said(const ServeMessage& message) {
  return encodeServeMessage(message);
}

Bytes beginning() {
  return said(ServerHello{kServeVersion, kFormatVersion, "1"}) + said(Opened{1});
}

Chunk noteChunk(std::uint64_t seq) {
  Note note;
  note.key = "a";
  note.json = "1";
  Chunk chunk = makeChunk(note);
  chunk.seq = seq;
  chunk.checksum = computeChecksum(chunk);
  return chunk;
}

std::shared_ptr<RemoteSource> sourceFrom(const std::string& prefix,
                                         const RemotePatience& patience = {}) {
  return std::make_shared<RemoteSource>(
      std::make_unique<RemoteConnection>(RemoteAddress{parseShell(prefix), "/x"}, patience));
}

TEST(RemoteHostileTest, RejectsServersThatDoNotBeginAsOne) {
  RemoteMachine machine;
  const auto expect = [&](const Bytes& bytes, const char* words) {
    EXPECT_ERROR(sourceFrom(machine.says(bytes, true)), ErrorCode::kInput, words);
  };
  expect(said(Listed{}), "does not begin as");
  expect(said(noteChunk(1)), "does not begin as");
  expect(said(ServerHello{kServeVersion + 1, kFormatVersion, "9.9"}), "same version on both");
  expect(said(ServerHello{kServeVersion, kFormatVersion + 1, "9.9"}), "has RingScope 9.9");
  expect(said(ServerHello{kServeVersion, kFormatVersion, ""}) + said(Listed{}),
         "does not answer as");
  expect(said(ServerHello{}) + said(Refusal{"\x1b[2Jno"}), "[2Jno");
  expect({0xff, 0xff, 0xff, 0xff, 'J'}, "impossible length");
  expect({2, 0, 0, 0, 'Z', 0}, "unknown type");
  expect(encodeJsonFrame(std::string(1000, '[')), "sent what cannot be read");
}

TEST(RemoteHostileTest, RejectsAnEndlessBeginning) {
  RemoteMachine machine;
  EXPECT_ERROR(sourceFrom(machine.script("exec yes")), ErrorCode::kInput, "start-up files");
}

TEST(RemoteHostileTest, GivesUpAfterASilence) {
  RemoteMachine machine;
  const std::string silent = machine.script("exec sleep 60");
  EXPECT_ERROR(sourceFrom(silent, {50ms, 50ms}), ErrorCode::kInput, "check the network");
  const auto source = sourceFrom(machine.says(beginning(), true), {5s, 50ms});
  EXPECT_ERROR(source->read(1), ErrorCode::kInput, "check the network");
  EXPECT_ERROR(source->read(1), ErrorCode::kInput, "check the network");
}

TEST(RemoteHostileTest, ServersThatCloseOnlyTheirOutputAreEnded) {
  RemoteMachine machine;
  const std::string closes = machine.script("exec >&-; exec sleep 60");
  EXPECT_ERROR(sourceFrom(closes), ErrorCode::kInput, "ended with exit code");
}

TEST(RemoteHostileTest, AnswersThatWereNotAskedForEndTheConnection) {
  RemoteMachine machine;
  Chunk values = noteChunk(0);
  values.kind = ChunkKind::kValues;
  values.key = 8;
  values.checksum = computeChecksum(values);
  for (const ServeMessage& message :
       {ServeMessage(noteChunk(2)), ServeMessage(Listed{}), ServeMessage(ServedHeaders{}),
        ServeMessage(ServerHello{}), ServeMessage(values)}) {
    const auto source =
        sourceFrom(machine.says(beginning() + said(message) + said(noteChunk(1)), true));
    EXPECT_ERROR(source->read(1), ErrorCode::kInput, "not asked for");
    EXPECT_ERROR(source->read(1), ErrorCode::kInput, "not asked for");
    const auto of_values = sourceFrom(machine.says(beginning() + said(message), true));
    EXPECT_ERROR(of_values->values(TensorId::of(7)), ErrorCode::kInput, "not asked for");
  }
  const auto source = sourceFrom(machine.says(beginning() + said(Opened{1}), true));
  EXPECT_ERROR(readTrace(source), ErrorCode::kInput, "not asked for");
}

TEST(RemoteHostileTest, ADamagedChunkEndsTheConnection) {
  RemoteMachine machine;
  Bytes chunk = said(noteChunk(1));
  chunk.back() ^= 1;
  const auto source = sourceFrom(machine.says(beginning() + chunk, true));
  EXPECT_ERROR(source->read(1), ErrorCode::kInput, "checksum");
}

TEST(RemoteHostileTest, ChunksOfAnotherKindThanListedAreRefused) {
  RemoteMachine machine;
  const ChunkHeader events{1, ChunkKind::kEvents, WorldRank::of(0), 0, 1, 5};
  const auto source =
      sourceFrom(machine.says(beginning() + said(ServedHeaders{events, events}) + said(Listed{}) +
                                  said(noteChunk(1)) + said(noteChunk(1)) + said(noteChunk(1)),
                              true));
  const auto trace = readTrace(source);
  ASSERT_FALSE(trace->problems().empty());
  EXPECT_ERROR(source->read(1), ErrorCode::kInput, "where events are listed");
}

TEST(RemoteHostileTest, WhatWasReadStaysWhenTheConnectionIsLost) {
  RemoteMachine machine;
  const auto source = sourceFrom(machine.says(beginning() + said(noteChunk(1)) + said(Listed{})));
  const auto trace = readTrace(source);
  EXPECT_EQ(trace->note("a"), 1);
  EXPECT_ERROR(source->read(2), ErrorCode::kInput, "is lost; open the recording again");
  EXPECT_ERROR(source->values(TensorId::of(1)), ErrorCode::kInput, "is lost");
  EXPECT_EQ(trace->note("a"), 1);
}

TEST(RemoteHostileTest, AnswersOfAServerThatHasEndedAreRead) {
  RemoteMachine machine;
  const std::string ended = machine.file("ended");
  const auto source = sourceFrom(machine.script(
      machine.says(beginning() + said(noteChunk(1)) + said(Listed{})) + "; touch " + ended));
  for (int i = 0; i < 1000 && !std::filesystem::exists(ended); ++i)
    std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(50ms);  // until the shell itself has ended
  EXPECT_EQ(readTrace(source)->note("a"), 1);
}

TEST(RemoteHostileTest, AListingThatEndsEarlyOpensNothing) {
  RemoteMachine machine;
  EXPECT_ERROR(readTrace(sourceFrom(machine.says(beginning() + said(noteChunk(1))))),
               ErrorCode::kInput, "is lost");
}

/// Starts a server of the sample, sends it bytes, and returns its exit code.
int codeAfter(const Bytes& bytes) {
  test::Child server({"serve", test::sampleRecording()});
  EXPECT_EQ(::write(server.input, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(server.input);
  server.input = -1;
  char buffer[65536];
  while (::read(server.output, buffer, sizeof buffer) > 0) {
  }
  return server.waitAtMost(10s);
}

TEST(RemoteHostileTest, TheServerRejectsMalformedRequestsAndEnds) {
  EXPECT_EQ(codeAfter({}), 0);
  EXPECT_EQ(codeAfter(encodeServeRequest(ListRequest{})), 0);
  EXPECT_EQ(codeAfter(encodeServeRequest(ReadRequest{~0ull})), 0);
  EXPECT_EQ(codeAfter(encodeServeRequest(ValuesRequest{~0ull})), 0);
  EXPECT_EQ(codeAfter({0xff, 0xff, 0xff, 0xff, 'J'}), 2);
  EXPECT_EQ(codeAfter(encodeJsonFrame("{")), 2);
  EXPECT_EQ(codeAfter(encodeJsonFrame(R"({"cmd": "write"})")), 2);
  EXPECT_EQ(codeAfter(said(noteChunk(1))), 2);
}

TEST(RemoteHostileTest, RequestsForWhatIsNotThereAreRefused) {
  RemoteMachine machine;
  const auto source = openRemote(shellAddress("sh -c", test::sampleRecording()));
  EXPECT_ERROR(source->read(1u << 30), ErrorCode::kInput, "is not in the file");
  EXPECT_FALSE(source->values(TensorId::of(1u << 30)));
  EXPECT_TRUE(readTrace(source)->problems().empty());
}

}  // namespace
}  // namespace ringscope::traces

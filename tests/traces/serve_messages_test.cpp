// SPDX-License-Identifier: Apache-2.0
// The messages between a reader and `ringscope serve`.
#include "traces/exchange/remote/serve_messages.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace ringscope::traces {
namespace {

Frame frameFrom(const Bytes& bytes) {
  FrameDecoder decoder;
  decoder.feed(bytes.data(), bytes.size());
  return decoder.next().value();
}

template <typename Message>
Message sentAndReceived(const Message& message) {
  return std::get<Message>(decodeServeMessage(frameFrom(encodeServeMessage(message))));
}

TEST(ServeMessagesTest, EveryMessageArrivesAsItWasSent) {
  const ServerHello hello = sentAndReceived(ServerHello{3, 4, "9.8.7"});
  EXPECT_EQ(hello.version, 3);
  EXPECT_EQ(hello.format, 4);
  EXPECT_EQ(hello.release, "9.8.7");
  EXPECT_EQ(sentAndReceived(Opened{1u << 20}).bytes, 1u << 20);
  EXPECT_EQ(sentAndReceived(ServedProblem{"a"}).sentence, "a");
  EXPECT_EQ(sentAndReceived(Refusal{"b"}).sentence, "b");
  sentAndReceived(Busy{});
  sentAndReceived(Listed{});
  sentAndReceived(NoValues{});
  ChunkHeader header{7, ChunkKind::kValues, WorldRank::of(3), ~0ull, 5, 1ull << 63};
  const ServedHeaders headers = sentAndReceived(ServedHeaders(kMostHeaders, header));
  ASSERT_EQ(headers.size(), kMostHeaders);
  EXPECT_EQ(headers.back().seq, 7u);
  EXPECT_EQ(headers.back().kind, ChunkKind::kValues);
  EXPECT_EQ(headers.back().rank, WorldRank::of(3));
  EXPECT_EQ(headers.back().key, ~0ull);
  EXPECT_EQ(headers.back().rows, 5u);
  EXPECT_EQ(headers.back().checksum, 1ull << 63);
}

TEST(ServeMessagesTest, EveryRequestArrivesAsItWasSent) {
  const auto received = [](const ServeRequest& request) {
    return decodeServeRequest(frameFrom(encodeServeRequest(request)));
  };
  EXPECT_TRUE(std::holds_alternative<ListRequest>(received(ListRequest{})));
  EXPECT_EQ(std::get<ReadRequest>(received(ReadRequest{~0ull})).seq, ~0ull);
  EXPECT_EQ(std::get<ValuesRequest>(received(ValuesRequest{5})).tensor, 5u);
}

TEST(ServeMessagesTest, TextsOfTheOtherSideCannotControlATerminal) {
  const auto problem = std::get<ServedProblem>(
      decodeServeMessage(frameFrom(encodeJsonFrame(R"({"problem": "\u001b[2Ja\nb"})"))));
  EXPECT_EQ(problem.sentence.find('\x1b'), std::string::npos);
  EXPECT_EQ(problem.sentence.find('\n'), std::string::npos);
}

TEST(ServeMessagesTest, RejectsMalformedMessages) {
  for (const char* json :
       {"[]", "3", "{}", R"({"serve": -1})", R"({"serve": 1})", R"({"serve": "1"})",
        R"({"serve": 99999999999999999999})", R"({"serve": 1, "format": 4, "release": 3})",
        R"({"opened": true})", R"({"problem": 1})", R"({"refused": []})", "{", ""})
    EXPECT_THROW(decodeServeMessage(frameFrom(encodeJsonFrame(json))), Error) << json;
  for (const char* json : {"{}", R"({"cmd": 3})", R"({"cmd": "write"})", R"({"cmd": "read"})",
                           R"({"cmd": "read", "seq": -1})", R"({"cmd": "read", "seq": 1.5})"})
    EXPECT_THROW(decodeServeRequest(frameFrom(encodeJsonFrame(json))), Error) << json;
  EXPECT_THROW(decodeServeMessage({FrameType::kHeaders, Bytes(30)}), Error);
  EXPECT_THROW(decodeServeMessage({FrameType::kHeaders, Bytes(31 * (kMostHeaders + 1))}), Error);
  EXPECT_THROW(decodeServeMessage({FrameType::kHeaders, Bytes(31, 0xff)}), Error);
  EXPECT_THROW(decodeServeRequest({FrameType::kChunk, Bytes(40)}), Error);
  EXPECT_THROW(decodeServeMessage({FrameType::kJson, Bytes(kMaxRequestBytes + 1, ' ')}), Error);
}

}  // namespace
}  // namespace ringscope::traces

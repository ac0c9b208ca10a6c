// SPDX-License-Identifier: Apache-2.0
#include "engine/control/rank_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/support/expect_error.h"
#include "traces/exchange/control/messages.h"

namespace ringscope::engine {
namespace {

namespace control = traces::control;

/// A run that grants every request and does nothing.
class IdleRun : public ControlledRun {
 public:
  traces::Watermark flush() override { return {}; }
  traces::RecorderStats stats() const override {
    traces::RecorderStats stats;
    stats.dropped_events = 4;
    return stats;
  }
  std::int64_t now() const override { return 0; }
  control::TensorList tensors() override { return {}; }
  control::TensorSlice read(const control::ReadTensor&) override { return {}; }
  std::int32_t inject(const std::string&) override { return 5; }
  std::int32_t lift(const std::string&) override { return 6; }
  void setCapture(const std::string&) override {}
  void breakOnNonFinite(bool) override {}
};

/// A rank's end of the connection; the test holds the supervisor's end.
class RankLinkFaultTest : public testing::Test {
 protected:
  RankLinkFaultTest() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    ours_ = ends[0];
    writer_ = std::make_shared<traces::FrameWriter>(::dup(ends[1]), 1 << 20);
    theirs_ = ends[1];
    link_.emplace(theirs_, writer_, run_);
  }
  ~RankLinkFaultTest() override {
    link_.reset();
    ::close(ours_);
    ::close(theirs_);
  }
  void send(const traces::Bytes& frame) {
    ASSERT_EQ(::write(ours_, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  }
  control::Reply answerTo(const std::string& text) {
    send(traces::encodeJsonFrame(text));
    return std::get<control::Reply>(next());
  }
  control::Message next() {
    for (;;) {
      if (const auto frame = decoder_.next())
        return control::decodeMessage(traces::parseFrameJson(*frame));
      char buffer[4096];
      const ssize_t n = ::read(ours_, buffer, sizeof buffer);
      if (n <= 0) throw runFailed("the rank has closed its end");
      decoder_.feed(buffer, static_cast<std::size_t>(n));
    }
  }

  IdleRun run_;
  int ours_ = -1, theirs_ = -1;
  std::shared_ptr<traces::FrameWriter> writer_;
  std::optional<RankLink> link_;
  traces::FrameDecoder decoder_;
};

TEST_F(RankLinkFaultTest, AWronglyTypedRequestIsRefusedAndTheNextOneAnswered) {
  const char* hostile[] = {"{\"cmd\": \"read\", \"tensor\": 7, \"id\": 1}",
                           "{\"cmd\": \"inject\", \"mistake\": [\"a\"], \"id\": 1}",
                           "{\"cmd\": \"non_finite\", \"on\": \"yes\", \"id\": 1}",
                           "{\"cmd\": \"dance\", \"id\": 1}", "{\"cmd\": \"pause\", \"id\": 1}"};
  for (const char* text : hostile) {
    const control::Reply reply = answerTo(text);
    EXPECT_NE(reply.refused(), nullptr) << text;
    EXPECT_EQ(reply.id, 1) << text;
  }
  for (const char* text : {"{\"cmd\": 7, \"id\": 1}", "[1]", "\"flush\"", "{\"cmd\":"})
    EXPECT_NE(answerTo(text).refused(), nullptr) << text;
  const control::Reply flushed = answerTo("{\"cmd\": \"flush\", \"id\": 2}");
  ASSERT_TRUE(std::holds_alternative<control::Flushed>(flushed.answer));
  EXPECT_EQ(std::get<control::Flushed>(flushed.answer).dropped_events, 4u);
}

TEST_F(RankLinkFaultTest, AnInvalidFrameEndsTheConnectionButNotTheRank) {
  send(traces::Bytes(64, 0xff));
  EXPECT_TRUE(std::holds_alternative<control::Failure>(next()));
}

}  // namespace
}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
// The data that a rank sends becomes its files, and malformed data is rejected with a sentence.
#include "traces/exchange/live/rank_stream.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/live_client.h"
#include "tests/support/recording_copy.h"

namespace ringscope::traces {
namespace {

using test::kRecording;

constexpr const char* kLines = "rank-00001.jsonl";
constexpr const char* kValues = "rank-00001.values-0000.safetensors";

class RankStreamTest : public testing::Test {
 protected:
  RankStreamTest() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return dir_.file("job"); }
  RankStream stream(StreamLimits limits = {}) const {
    return {Hello::parse(test::LiveClient::hello(1, 2)), folder(), limits};
  }
  std::string written(const std::string& name) const { return readFile(folder() + "/" + name); }
  std::string header() const { return test::LiveClient::header(1, 2) + "\n"; }

 private:
  test::TempDir dir_;
};

TEST_F(RankStreamTest, LinesAndValuesAreTheFilesThatTheRankHas) {
  const std::string sent = readFile(kRecording + "/" + kLines) +
                           test::LiveClient::values(kRecording, kValues) +
                           "{\"line\":\"border\",\"step\":0}\n{\"line\":\"bye\"}\n";
  RankStream whole = stream();
  whole.feed(sent);
  EXPECT_TRUE(whole.ended());
  EXPECT_EQ(whole.border(), 0);
  EXPECT_EQ(written(kLines), readFile(kRecording + "/" + kLines));
  EXPECT_EQ(written(kValues), readFile(kRecording + "/" + kValues));
}

TEST_F(RankStreamTest, BytesMayBeCutAnywhere) {
  const std::string sent = header() + "{\"line\":\"step\",\"step\":0}\n" +
                           test::LiveClient::values(kRecording, kValues) + "{\"line\":\"end\"}\n";
  RankStream cut = stream();
  for (std::size_t at = 0; at < sent.size(); at += 7) cut.feed(sent.substr(at, 7));
  EXPECT_TRUE(cut.ended());
  EXPECT_EQ(cut.lines(), 3u);
  EXPECT_EQ(written(kValues), readFile(kRecording + "/" + kValues));
}

TEST_F(RankStreamTest, ValuesThatWereCutAreNoFileOfValues) {
  const std::string values = test::LiveClient::values(kRecording, kValues);
  {
    RankStream cut = stream();
    cut.feed(header() + values.substr(0, values.size() / 2));
  }
  EXPECT_FALSE(std::filesystem::exists(folder() + "/" + kValues));
}

TEST_F(RankStreamTest, ThePositionOfTheRankIsInNoFile) {
  RankStream stands = stream();
  stands.feed(header() +
              R"({"line":"stands","step":4,"in":{"operator":"barrier","group":"0","nth":3}})"
              "\n{\"line\":\"held\",\"step\":4}\n{\"line\":\"paused\",\"step\":4}\n");
  ASSERT_TRUE(stands.standing().in);
  EXPECT_EQ(stands.standing().in->nth, 3);
  EXPECT_TRUE(stands.isHeld());
  EXPECT_EQ(stands.takePauseWords().size(), 2u);
  EXPECT_EQ(written(kLines), header());
}

TEST_F(RankStreamTest, RejectsMalformedData) {
  const std::string bad[] = {
      "\n",
      "garbage\n",
      std::string("\0\xff\xfe\n", 4),
      "[]\n",
      "{}\n",
      "{\"line\":\"step\"}\n",
      header() + header(),
      header() + std::string(2'000, '[') + "\n",
      test::LiveClient::header(0, 2) + "\n",
      header() +
          "{\"line\":\"values\",\"file\":\"../rank-00001.values-0000.safetensors\",\"bytes\":9}\n",
      header() +
          "{\"line\":\"values\",\"file\":\"rank-00000.values-0000.safetensors\",\"bytes\":9}\n",
      header() +
          "{\"line\":\"values\",\"file\":\"rank-00001.values-0001.safetensors\",\"bytes\":9}\n",
      header() +
          "{\"line\":\"values\",\"file\":\"rank-00001.values-0000.safetensors\",\"bytes\":-9}\n",
      header() +
          "{\"line\":\"values\",\"file\":\"rank-00001.values-0000.safetensors\",\"bytes\":1e18}\n",
  };
  for (const std::string& bytes : bad) {
    EXPECT_ERROR(stream().feed(bytes), ErrorCode::kInput, "");
    std::filesystem::remove_all(folder());
    std::filesystem::create_directory(folder());
  }
}

TEST_F(RankStreamTest, RejectsOversizedDataBeforeKeepingIt) {
  StreamLimits limits;
  limits.line_bytes = 300;
  RankStream endless = stream(limits);
  endless.feed(header());
  EXPECT_ERROR(for (int i = 0; i < 40; ++i) endless.feed("xxxxxxxxxx"), ErrorCode::kInput,
               "a line of more than 300 bytes");
  std::filesystem::remove(folder() + "/" + kLines);
  limits.lines_bytes = 300;
  RankStream many = stream(limits);
  EXPECT_ERROR(
      {
        many.feed(header());
        for (int i = 0; i < 40; ++i) many.feed("{\"line\":\"step\"}\n");
      },
      ErrorCode::kInput, "more lines than are taken");
  std::filesystem::remove(folder() + "/" + kLines);
  limits.values_bytes = 100;
  RankStream large = stream(limits);
  large.feed(header());
  EXPECT_ERROR(large.feed(test::LiveClient::values(kRecording, kValues)), ErrorCode::kInput,
               "more values than are taken");
}

TEST_F(RankStreamTest, NothingThatIsThereIsOverwrittenAndNoLinkIsFollowed) {
  const std::string elsewhere = folder() + "/elsewhere";
  std::filesystem::create_symlink(elsewhere, folder() + "/" + kLines);
  EXPECT_ERROR(stream(), ErrorCode::kInput, "cannot be written");
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST(LiveHello, IsRefusedWhereItIsNoRecordersOrOfAnotherVersion) {
  const std::string good = test::LiveClient::hello(1, 2, "abc", true);
  EXPECT_EQ(Hello::parse(good).token, "abc");
  EXPECT_TRUE(Hello::parse(good).takes_pauses);
  EXPECT_ERROR(Hello::parse("GET / HTTP/1.1"), ErrorCode::kInput, "the first line");
  EXPECT_ERROR(Hello::parse("{}"), ErrorCode::kInput, "not RingScope's recorder");
  EXPECT_ERROR(
      Hello::parse(R"({"line":"hello","ringscope":"live","version":2,"rank":0,"world_size":1})"),
      ErrorCode::kInput, "version 2");
  for (const auto& [rank, ranks] : {std::pair(2, 2), {-1, 2}, {0, 0}, {0, 1 << 30}})
    EXPECT_ERROR(Hello::parse(test::LiveClient::hello(rank, ranks)), ErrorCode::kInput, "rank");
}

}  // namespace
}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Jobs over real sockets: their data becomes a recording, and a misbehaving client loses only its
// own connection.
#include "traces/exchange/live/listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/eventually.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/live_client.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/hang.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::kRecording;
using test::LiveClient;

class ListenerTest : public testing::Test {
 protected:
  ListenOptions options(const std::string& address) const {
    return {address, "", dir_.file("job"), {}};
  }
  std::string socketPath() const { return dir_.file("s"); }
  std::string folder() const { return dir_.file("job"); }

  /// Returns a rank that was accepted and has sent its header.
  static LiveClient begun(const Listener& listener, int rank, int ranks, bool pauses = false) {
    LiveClient client(listener.address());
    client.line(LiveClient::hello(rank, ranks, listener.token(), pauses));
    EXPECT_EQ(client.hear(), R"({"line":"welcome"})");
    client.line(LiveClient::header(rank, ranks));
    return client;
  }
  static bool comes(const Listener& listener, const std::function<bool(const JobSeen&)>& met) {
    return test::eventually([&] { return met(listener.job()); });
  }

 private:
  test::TempDir dir_;
};

TEST_F(ListenerTest, RanksThatSendAtOnceBecomeARecordingThatOpens) {
  Listener listener(options(socketPath()));
  std::barrier both(2);
  std::vector<std::thread> ranks;
  for (const int rank : {0, 1})
    ranks.emplace_back([&, rank] {
      const std::string stem = "rank-0000" + std::to_string(rank);
      LiveClient client(listener.address());
      client.line(LiveClient::hello(rank, 2));
      client.send(readFile(kRecording + "/" + stem + ".jsonl"));
      client.send(LiveClient::values(kRecording, stem + ".values-0000.safetensors"));
      client.line(R"({"line":"bye"})");
      EXPECT_EQ(client.hear(), R"({"line":"welcome"})");
      both.arrive_and_wait();  // both ranks of the job are connected at the same time
    });
  for (std::thread& rank : ranks) rank.join();
  ASSERT_TRUE(comes(listener, [](const JobSeen& job) {
    return job.ranks.size() == 2 && !job.isHere() && job.ranks[0].ended && job.ranks[1].ended;
  }));
  EXPECT_EQ(listener.job().folder, folder());
  const auto trace = openTrace(folder());
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  EXPECT_EQ(trace->moments().size(), openTrace(kRecording)->moments().size());
  EXPECT_EQ(trace->tensors().size(), openTrace(kRecording)->tensors().size());
}

TEST_F(ListenerTest, TheRecordingOfAKilledJobHasTheLiveVerdict) {
  Listener listener(options(socketPath()));
  {
    LiveClient first = begun(listener, 0, 2), second = begun(listener, 1, 2);
    first.line(R"({"line":"stands","step":3,"quiet_ns":30000000000,"in":{"operator":"all_reduce",)"
               R"("group":"0","nth":2,"bytes":8,"since_ns":30000000000},"groups":{"0":[0,1]},)"
               R"("posted":[{"group":"0","nth":2,"last":[[2,"all_reduce",8]]}]})");
    second.line(R"({"line":"stands","step":3,"quiet_ns":30000000000,"groups":{"0":[0,1]},"posted":)"
                R"([{"group":"0","nth":1,"last":[[1,"all_reduce",8]]}],)"
                R"("at":{"file":"train.py","number":41,"function":"load"}})");
    ASSERT_TRUE(
        test::eventually([&] { return std::filesystem::exists(folder() + "/listener.jsonl"); }));
  }
  ASSERT_TRUE(comes(listener, [](const JobSeen& job) { return !job.isHere(); }));
  const auto hangs = findHangs(*openTrace(folder()));
  ASSERT_EQ(hangs.size(), 1u);
  EXPECT_TRUE(hangs[0].by_listener);
  EXPECT_EQ(hangs[0].rank, WorldRank::of(1));
  EXPECT_NE(describe(hangs[0]).find("at train.py:41 (load)"), std::string::npos);
  EXPECT_GT(hangs[0].unix_ns, 0);
}

TEST_F(ListenerTest, AUnixSocketIsForItsOwnerAloneAndGoesWithTheListener) {
  {
    const Listener listener(options(socketPath()));
    struct stat found {};
    ASSERT_EQ(::stat(socketPath().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
    EXPECT_EQ(listener.token(), "");
    EXPECT_ERROR(Listener(options(socketPath())), ErrorCode::kInput, "somebody else listens");
  }
  EXPECT_FALSE(std::filesystem::exists(socketPath()));
}

TEST_F(ListenerTest, ASocketThatWasLeftBehindIsReplacedAndAFileIsNot) {
  const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socketPath().c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  EXPECT_NO_THROW(Listener(options(socketPath())));
  std::ofstream(socketPath()) << "mine";
  EXPECT_ERROR(Listener(options(socketPath())), ErrorCode::kInput, "not possible to listen");
  EXPECT_EQ(readFile(socketPath()), "mine");
}

TEST_F(ListenerTest, OverTcpOnlyTheTokenIsLetIn) {
  Listener listener(options("127.0.0.1:0"));
  EXPECT_EQ(listener.token().size(), 32u);
  std::string almost = listener.token();
  almost.back() = almost.back() == '0' ? '1' : '0';
  for (const std::string& wrong : {std::string(), almost, listener.token() + "0"}) {
    LiveClient client(listener.address());
    client.line(LiveClient::hello(0, 1, wrong));
    EXPECT_NE(client.hear().find("the token is wrong"), std::string::npos);
    EXPECT_EQ(client.hear(), "");
  }
  EXPECT_EQ(listener.job().number, 0);
  EXPECT_FALSE(std::filesystem::exists(folder()));
  begun(listener, 0, 1);
  EXPECT_TRUE(comes(listener, [](const JobSeen& job) { return job.number == 1; }));
}

TEST_F(ListenerTest, OnlyThisMachineIsListenedAt) {
  EXPECT_ERROR(Listener(options("0.0.0.0:4711")), ErrorCode::kUsage, "not on this machine");
  EXPECT_ERROR(Listener(options("example.org:4711")), ErrorCode::kUsage, "ssh -R");
}

TEST_F(ListenerTest, GarbageEndsItsOwnConnectionAndNoOther) {
  Listener listener(options(socketPath()));
  LiveClient good = begun(listener, 0, 2), bad = begun(listener, 1, 2);
  LiveClient stranger(listener.address());
  stranger.send(std::string(100'000, 'x'));
  EXPECT_NE(stranger.hear().find("not RingScope's recorder"), std::string::npos);
  bad.send("\x01\x02 this is no line\n");
  EXPECT_NE(bad.hear().find("refused"), std::string::npos);
  EXPECT_TRUE(good.line(R"({"line":"step","step":0})"));
  EXPECT_TRUE(comes(listener, [](const JobSeen& job) {
    return job.lines == 3 && job.refusals == 2 && job.ranks.size() == 2 && job.ranks[0].here &&
           !job.ranks[1].here;
  }));
  EXPECT_EQ(listener.job().refused.size(), 2u);
}

TEST_F(ListenerTest, ASecondRankOfOneNumberAndRanksOfAnotherJobAreRefused) {
  Listener listener(options(socketPath()));
  const LiveClient first = begun(listener, 0, 2);
  LiveClient again(listener.address()), other(listener.address());
  again.line(LiveClient::hello(0, 2));
  EXPECT_NE(again.hear().find("has come already"), std::string::npos);
  other.line(LiveClient::hello(1, 4));
  EXPECT_NE(other.hear().find("another one"), std::string::npos);
}

TEST_F(ListenerTest, TheNextJobGetsAFolderOfItsOwn) {
  Listener listener(options(socketPath()));
  begun(listener, 0, 1).close();
  ASSERT_TRUE(comes(listener, [](const JobSeen& job) { return job.number == 1 && !job.isHere(); }));
  const LiveClient next = begun(listener, 0, 1);
  ASSERT_TRUE(comes(listener, [](const JobSeen& job) { return job.number == 2; }));
  EXPECT_EQ(listener.job().folder, folder() + "-2");
}

TEST_F(ListenerTest, APauseBringsAllRanksToOneBorderAndTheEndOfTheListenerIsHeard) {
  auto listener = std::make_unique<Listener>(options(socketPath()));
  LiveClient a = begun(*listener, 0, 2, true), b = begun(*listener, 1, 2, true);
  ASSERT_TRUE(comes(*listener, [](const JobSeen& job) { return job.pause_refusal.empty(); }));
  listener->pause();
  for (LiveClient* rank : {&a, &b}) EXPECT_EQ(rank->hear(), R"({"line":"hold"})");
  a.line(R"({"line":"held","step":4})");
  b.line(R"({"line":"held","step":3})");
  for (LiveClient* rank : {&a, &b}) {
    std::string heard = rank->hear();
    while (heard == R"({"line":"still"})") heard = rank->hear();
    EXPECT_EQ(heard, R"({"line":"pause","step":4})");
    rank->line(R"({"line":"paused","step":4})");
  }
  ASSERT_TRUE(
      comes(*listener, [](const JobSeen& job) { return job.pause == PauseState::kPaused; }));
  EXPECT_EQ(listener->job().pause_border, 4);
  EXPECT_EQ(a.hear(3000), R"({"line":"still"})") << "whoever holds a job says so again";
  listener.reset();
  std::string heard = a.hear();
  while (!heard.empty()) heard = a.hear();
  EXPECT_FALSE(a.line("{}") && a.line("{}") && a.line("{}") && a.hear() != "");
}

TEST_F(ListenerTest, NewsIsWaitedForAndNotAskedForAgainAndAgain) {
  Listener listener(options(socketPath()));
  std::uint64_t changes = 0;
  const LiveClient client = begun(listener, 0, 1);
  JobSeen job;
  for (int round = 0; round < 100 && job.lines == 0; ++round)
    job = listener.waitForNews(changes, std::chrono::milliseconds(500));
  EXPECT_EQ(job.lines, 1u);
  EXPECT_GT(changes, 0u);
}

}  // namespace
}  // namespace ringscope::traces

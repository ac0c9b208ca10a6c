// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/mailbox.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "engine/plan.h"
#include "tests/support/campaign.h"
#include "tests/support/eventually.h"
#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

using std::chrono::milliseconds;

constexpr GroupRank kFirst = GroupRank::of(0), kSecond = GroupRank::of(1),
                    kThird = GroupRank::of(2);

TEST(MailboxTest, MessagesArriveInOrderWhicheverSideComesFirst) {
  Mailbox box(2);
  for (const bool send_first : {true, false}) {
    int sent[3] = {1, 2, 3}, got[3] = {};
    std::vector<std::shared_ptr<Parcel>> parcels;
    for (int pass = 0; pass < 2; ++pass)
      for (int i = 0; i < 3; ++i)
        parcels.push_back((pass == 0) == send_first
                              ? box.send(kFirst, kSecond, 0, &sent[i], sizeof(int))
                              : box.receive(kSecond, kFirst, 0, &got[i], sizeof(int)));
    for (auto& parcel : parcels) box.wait(*parcel, kFirst, milliseconds(1000));
    EXPECT_EQ(std::vector<int>(got, got + 3), (std::vector<int>{1, 2, 3}));
  }
}

TEST(MailboxTest, AllSizesFromNothingTo64MiBArriveWhole) {
  Mailbox box(2);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{64} << 20}) {
    std::vector<unsigned char> sent(size), got(size);
    std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(3));
    auto s = box.send(kFirst, kSecond, 0, sent.data(), size);
    auto r = box.receive(kSecond, kFirst, 0, got.data(), size);
    box.wait(*r, kSecond, milliseconds(5000));
    box.wait(*s, kFirst, milliseconds(5000));
    EXPECT_EQ(sent, got);
    EXPECT_GE(r->completed_ns, r->posted_ns);
  }
}

TEST(MailboxTest, ARingOfThreadsNeverMixesMessages) {
  constexpr int kRanks = 4, kRounds = 2000;
  Mailbox box(kRanks);
  auto rank = [&](GroupRank r) {
    const GroupRank next = roundRing(r, 1, kRanks), previous = roundRing(r, -1, kRanks);
    for (int i = 0; i < kRounds; ++i) {
      const int kv = r.value() * kRounds + i, dkv = -kv;
      int got_kv = 0, got_dkv = 0;
      auto a = box.receive(r, previous, 0, &got_kv, sizeof(int)),
           b = box.send(r, next, 0, &kv, sizeof(int));
      auto c = box.receive(r, previous, 1, &got_dkv, sizeof(int)),
           d = box.send(r, next, 1, &dkv, sizeof(int));
      for (auto* parcel : {&c, &a, &b, &d}) box.wait(**parcel, r, milliseconds(10000));
      ASSERT_EQ(got_kv, previous.value() * kRounds + i);
      ASSERT_EQ(got_dkv, -got_kv);
      if (i % 100 == 0) box.barrier(r, milliseconds(10000));
    }
  };
  std::vector<std::thread> threads;
  for (const GroupRank r : everyRank(kRanks)) threads.emplace_back(rank, r);
  for (auto& thread : threads) thread.join();
}

TEST(MailboxTest, ALargeMessageIsCopiedThoughNobodyWaits) {
  Mailbox box(2);
  std::vector<char> sent(kLeastQueuedBytes, 'x'), got(kLeastQueuedBytes);
  const auto send = box.send(kFirst, kSecond, 0, sent.data(), sent.size());
  const auto receive = box.receive(kSecond, kFirst, 0, got.data(), got.size());
  EXPECT_TRUE(test::eventually([&] { return box.done(*receive); }));
  EXPECT_TRUE(box.done(*send));
  EXPECT_EQ(sent, got);
  EXPECT_GE(receive->started_ns, receive->posted_ns);
}

TEST(MailboxTest, LargeMessagesOfARingOverlapAndKeepTheirOrder) {
  constexpr int kRanks = 4, kRounds = 50;
  constexpr std::size_t kNumbers = 4 * kLeastQueuedBytes / sizeof(int);
  Mailbox box(kRanks);
  const auto rank = [&](GroupRank r) {
    const GroupRank next = roundRing(r, 1, kRanks), previous = roundRing(r, -1, kRanks);
    std::vector<int> held(kNumbers, r.value()), coming(kNumbers);
    for (int i = 0; i < kRounds; ++i) {
      const auto in = box.receive(r, previous, 0, coming.data(), kNumbers * sizeof(int));
      const auto out = box.send(r, next, 0, held.data(), kNumbers * sizeof(int));
      ASSERT_EQ(
          std::accumulate(held.begin(), held.end(), std::int64_t{0}),
          static_cast<std::int64_t>(kNumbers) * ((r.value() + kRanks * kRounds - i) % kRanks));
      box.wait(*in, r, milliseconds(10000));
      box.wait(*out, r, milliseconds(10000));
      std::swap(held, coming);
    }
  };
  std::vector<std::thread> threads;
  for (const GroupRank r : everyRank(kRanks)) threads.emplace_back(rank, r);
  for (auto& thread : threads) thread.join();
}

TEST(MailboxTest, ASilentPeerIsNamedAfterTheTimeout) {
  Mailbox box(3);
  int x = 0;
  auto parcel = box.receive(kThird, kSecond, 0, &x, sizeof x);
  EXPECT_ERROR(box.wait(*parcel, kThird, milliseconds(20)), ErrorCode::kRunFailed,
               "rank 2 waited 20 ms for rank 1");
  EXPECT_THROW(box.send(kFirst, kSecond, 0, &x, sizeof x), Error)
      << "a lost message cannot be taken back";
}

TEST(MailboxTest, ABarrierNamesWhoIsMissing) {
  Mailbox box(2);
  EXPECT_ERROR(box.barrier(kFirst, milliseconds(20)), ErrorCode::kRunFailed, "for rank 1");
}

TEST(MailboxTest, SidesThatDisagreeAboutTheSizeBothLearnIt) {
  Mailbox box(2);
  double x = 0, y = 0;
  auto s = box.send(kFirst, kSecond, 0, &x, 8);
  auto r = box.receive(kSecond, kFirst, 0, &y, 4);
  EXPECT_ERROR(box.wait(*s, kFirst, milliseconds(100)), ErrorCode::kRunFailed, "sent 8 bytes");
  EXPECT_ERROR(box.wait(*r, kSecond, milliseconds(100)), ErrorCode::kRunFailed, "expects 4");
}

TEST(MailboxTest, AbortEndsEveryWaitWithItsReason) {
  for (test::Campaign campaign(20, 1); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    Mailbox box(2);
    int x = 0;
    auto parcel = box.receive(kSecond, kFirst, 0, &x, sizeof x);
    std::thread other([&] {
      campaign.anyMoment(milliseconds(2));
      box.abort("rank 0 failed");
    });
    EXPECT_ERROR(box.wait(*parcel, kSecond, milliseconds(5000)), ErrorCode::kRunFailed,
                 "rank 0 failed");
    EXPECT_THROW(box.barrier(kSecond, milliseconds(5000)), Error);
    other.join();
  }
}

TEST(MailboxTest, RanksOutsideTheGroupAreRefused) {
  Mailbox box(2);
  int x = 0;
  EXPECT_ERROR(box.send(kFirst, kThird, 0, &x, 4), ErrorCode::kUsage, "rank 2 is not among");
}

}  // namespace
}  // namespace ringscope::engine

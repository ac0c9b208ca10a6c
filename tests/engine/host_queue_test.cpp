// SPDX-License-Identifier: Apache-2.0
#include "engine/queue/host_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ringscope::engine {
namespace {

TEST(HostQueueTest, WorkRunsInItsOrderBesideTheThreadThatQueuesIt) {
  std::vector<int> order;
  std::atomic<bool> go{false};
  std::thread::id ran_on;
  HostQueue queue;
  queue.run([&] {
    while (!go) std::this_thread::yield();
    ran_on = std::this_thread::get_id();
  });
  for (int i = 0; i < 100; ++i) queue.run([&, i] { order.push_back(i); });
  const auto mark = queue.mark();
  EXPECT_FALSE(mark->reached());
  go = true;
  queue.drain();
  EXPECT_TRUE(mark->reached());
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(HostQueueTest, AQueueWaitsForTheMarkOfAnother) {
  for (int round = 0; round < 50; ++round) {
    int value = 0;  // not atomic: the mark orders the two threads
    HostQueue computes, copies;
    int copied = 0;
    computes.run([&] {
      std::this_thread::yield();
      value = round + 1;
    });
    copies.await(computes.mark());
    copies.copy(&copied, &value, sizeof value);
    computes.await(copies.mark());
    computes.run([&] { value = -1; });  // the buffer is free again
    computes.drain();
    EXPECT_EQ(copied, round + 1);
    EXPECT_EQ(value, -1);
  }
}

TEST(HostQueueTest, AMarkOfAnEmptyQueueIsReached) {
  HostQueue queue;
  EXPECT_TRUE(queue.mark()->reached());
  queue.drain();
}

TEST(HostQueueTest, WorkThatFailsEndsTheQueueAndIsNamedByEveryLaterMark) {
  HostQueue queue;
  bool ran = false;
  const auto before = queue.mark();
  queue.run([] { throw std::runtime_error("the copy failed"); });
  queue.run([&] { ran = true; });
  const auto after = queue.mark();
  for (int twice = 0; twice < 2; ++twice) {
    try {
      after->wait();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the copy failed");
    }
  }
  EXPECT_TRUE(before->reached());
  EXPECT_FALSE(ran);
}

TEST(HostQueueTest, AFailureReachesTheQueueThatWaitsForIt) {
  HostQueue first, second;
  bool ran = false;
  first.run([] { throw std::runtime_error("first"); });
  second.await(first.mark());
  second.run([&] { ran = true; });
  EXPECT_THROW(second.drain(), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST(HostQueueTest, TheDestructorWaitsAndMarksOutliveTheQueue) {
  std::atomic<int> done{0};
  std::shared_ptr<QueueMark> mark;
  {
    HostQueue queue;
    for (int i = 0; i < 20; ++i) queue.run([&] { ++done; });
    mark = queue.mark();
  }
  EXPECT_EQ(done, 20);
  EXPECT_TRUE(mark->reached());
}

TEST(HostQueueTest, ManyThreadsMayQueueWork) {
  HostQueue queue;
  int sum = 0;  // not atomic: all work runs on one thread
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) queue.run([&] { ++sum; });
    });
  for (std::thread& thread : threads) thread.join();
  queue.drain();
  EXPECT_EQ(sum, 2000);
}

}  // namespace
}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include "traces/schema/chunk.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/expect_error.h"

namespace ringscope::traces {
namespace {

std::vector<Event> someEvents(int count) {
  std::mt19937_64 random(7);
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) {
    Event e;
    e.begin_ns = i * 1000 + static_cast<std::int64_t>(random() % 500);
    e.end_ns = e.begin_ns + static_cast<std::int64_t>(random() % 900);
    e.cpu_ns = static_cast<std::int64_t>(random() % 800);
    e.bytes = static_cast<std::int64_t>(random() >> 20);
    e.flow = random();
    e.place = {i / 10, static_cast<std::int16_t>(i % 3 - 1),
               i % 2 ? Direction::kBackward : Direction::kForward,
               static_cast<std::int16_t>(i % 5 - 1)};
    e.q_end = i;
    e.k_end = 2 * i;
    e.rank = static_cast<std::int16_t>(i % 4);
    e.peer = static_cast<std::int16_t>(i % 5 - 1);
    e.kind = static_cast<EventKind>(i % static_cast<int>(EventKind::kCount));
    e.payload = static_cast<Payload>(i % static_cast<int>(Payload::kCount));
    events.push_back(e);
  }
  return events;
}

Chunk eventChunk(int count) {
  Chunk chunk;
  chunk.rows = static_cast<std::uint32_t>(count);
  chunk.body = encodeEvents(someEvents(count));
  return chunk;
}

TEST(ChunkTest, EventsComeBackAsTheyWere) {
  const auto events = someEvents(1000);
  const auto decoded = decodeEvents(eventChunk(1000));
  ASSERT_EQ(decoded.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(decoded[i].begin_ns, events[i].begin_ns);
    EXPECT_EQ(decoded[i].end_ns, events[i].end_ns);
    EXPECT_EQ(decoded[i].bytes, events[i].bytes);
    EXPECT_EQ(decoded[i].flow, events[i].flow);
    EXPECT_EQ(decoded[i].place, events[i].place);
    EXPECT_EQ(decoded[i].kind, events[i].kind);
    EXPECT_EQ(decoded[i].peer, events[i].peer);
    EXPECT_EQ(decoded[i].k_end, events[i].k_end);
  }
}

TEST(ChunkTest, TensorsShardsDiffsAndNotesComeBackAsTheyWere) {
  TensorRecord tensor{7,  "block_lse",           {3, 1, Direction::kBackward, 2},
                      5,  DType::kBFloat16,      {2, 4, 64},
                      99, {-1, 2, 0.5, 2, 1, 3}, true};
  Chunk chunk{1, ChunkKind::kTensors, -1, 0, 1, 0, encodeTensors(std::vector{tensor})};
  const auto t = decodeTensors(chunk).front();
  EXPECT_EQ(t.name, "block_lse");
  EXPECT_EQ(t.place, tensor.place);
  EXPECT_EQ(t.shape, tensor.shape);
  EXPECT_EQ(t.stats.inf, 3);
  EXPECT_TRUE(t.has_values);

  ShardRecord shard{"labels", 2, 3, true, 1, {4, 128}, {4, 32}, {{0, 16}, {112, 128}}};
  chunk.body = encodeShard(shard);
  EXPECT_EQ(decodeShard(chunk).global_from_local, shard.global_from_local);

  DiffRecord diff;
  diff.tensor = "dk";
  diff.multiple = 0.9;
  diff.multiple_by_rank = {0.1, 0.9};
  diff.worst_index = {0, 1, 2};
  chunk.body = encodeDiffs(std::vector{diff});
  EXPECT_EQ(decodeDiffs(chunk).front().multiple_by_rank, diff.multiple_by_rank);

  chunk.body = encodeNote({"run", "{}"});
  EXPECT_EQ(decodeNote(chunk).key, "run");
}

TEST(ChunkTest, MoreRowsThanBytesAreRefusedBeforeAllocation) {
  Chunk chunk = eventChunk(10);
  chunk.rows = 0xFFFFFFFF;
  EXPECT_ERROR(decodeEvents(chunk), ErrorCode::kInput, "more rows");
}

TEST(ChunkTest, TruncationAtEveryByteIsRefused) {
  const Chunk whole = eventChunk(20);
  for (std::size_t size = 0; size < whole.body.size(); ++size) {
    Chunk cut = whole;
    cut.body.resize(size);
    EXPECT_THROW(decodeEvents(cut), Error) << size;
  }
}

TEST(ChunkTest, ChecksumCoversHeaderAndBody) {
  Chunk chunk = eventChunk(5);
  const auto sum = computeChecksum(chunk);
  chunk.rank = 3;
  EXPECT_NE(computeChecksum(chunk), sum);
  chunk.rank = -1;
  chunk.body[0] ^= 1;
  EXPECT_NE(computeChecksum(chunk), sum);
}

/// Decoders of untrusted bodies either return or throw Error; under ASan and UBSan this finds the
/// rest.
TEST(ChunkFuzzTest, RandomlyDamagedBodiesNeverCrash) {
  std::mt19937 random(11);
  const Chunk events = eventChunk(50);
  TensorRecord tensor{7, "q", {}, 0, DType::kFloat32, {2, 3}, 1, {}, false};
  for (int round = 0; round < 20000; ++round) {
    Chunk chunk = events;
    if (round % 2)
      chunk = {1, ChunkKind::kTensors, -1, 0, 2, 0, encodeTensors(std::vector{tensor, tensor})};
    for (int flips = 0; flips < 3; ++flips)
      chunk.body[random() % chunk.body.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
    if (round % 7 == 0) chunk.body.resize(random() % chunk.body.size());
    for (auto decode :
         {+[](const Chunk& c) { decodeEvents(c); }, +[](const Chunk& c) { decodeTensors(c); },
          +[](const Chunk& c) { decodeMemory(c); }, +[](const Chunk& c) { decodeShard(c); },
          +[](const Chunk& c) { decodeDiffs(c); }, +[](const Chunk& c) { decodeNote(c); },
          +[](const Chunk& c) { decodeEnd(c); }}) {
      try {
        decode(chunk);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace ringscope::traces

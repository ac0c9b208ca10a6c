// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/chunk.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"

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
    e.place = test::placeAt(i / 10, i % 3 - 1, i % 2 ? Direction::kBackward : Direction::kForward,
                            i % 5 - 1);
    e.q_end = i;
    e.k_end = 2 * i;
    e.rank = WorldRank::of(i % 4);
    e.peer = WorldRank::of(i % 5 - 1);
    e.kind = static_cast<EventKind>(i % static_cast<int>(EventKind::kCount));
    e.payload = static_cast<Payload>(i % static_cast<int>(Payload::kCount));
    events.push_back(e);
  }
  return events;
}

Chunk eventChunk(int count) {
  Chunk chunk;
  chunk.rows = static_cast<std::uint32_t>(count);
  chunk.body = encodeRows<Event>(someEvents(count));
  return chunk;
}

TEST(ChunkTest, EventsComeBackAsTheyWere) {
  const auto events = someEvents(1000);
  const auto decoded = decodeRows<Event>(eventChunk(1000));
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

TEST(ChunkTest, FieldsThatStayTheSameForAnyLengthComeBackAsTheyWere) {
  for (std::size_t count = 0; count < 300; ++count) {
    std::vector<Event> events(count);
    for (std::size_t i = 0; i < count; ++i) {
      events[i].q_begin = static_cast<std::int32_t>(i / (count / 3 + 1)) - 1;
      events[i].bytes = i + 1 == count ? -7 : 9;
      events[i].begin_ns = events[i].end_ns = static_cast<std::int64_t>(i % 17 == 16 ? i << 40 : 0);
    }
    const auto decoded = decodeRows<Event>(makeChunk(std::span<const Event>(events)));
    ASSERT_EQ(decoded.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(decoded[i].q_begin, events[i].q_begin) << i << " of " << count;
      ASSERT_EQ(decoded[i].bytes, events[i].bytes) << i << " of " << count;
      ASSERT_EQ(decoded[i].begin_ns, events[i].begin_ns) << i << " of " << count;
      ASSERT_EQ(decoded[i].place, events[i].place) << i << " of " << count;
    }
  }
}

TensorRecord someTensor() {
  TensorRecord tensor;
  tensor.tensor = TensorName::of("block_lse");
  tensor.place = {3, Layer::of(1), Direction::kBackward, RingStep::of(2)};
  tensor.pass = Pass::kRecompute;
  tensor.microbatch = 1;
  tensor.rank = WorldRank::of(5);
  tensor.source_rank = WorldRank::of(4);
  tensor.piece = PieceIndex::of(2);
  tensor.id = TensorId::of(7);
  tensor.dtype = DType::kBFloat16;
  tensor.shape = {2, 4, 64};
  tensor.hash = 99;
  tensor.stats = {-1, 2, 0.5, 2, 1, 3};
  tensor.has_values = true;
  return tensor;
}

template <typename Record>
Record throughChunk(const Record& record) {
  return decodeOne<Record>(makeChunk(record));
}

TEST(ChunkTest, EveryFieldOfARecordComesBackAsItWas) {
  const auto tensor = throughChunk(someTensor());
  EXPECT_EQ(static_cast<const TensorKey&>(tensor), someTensor());
  EXPECT_EQ(tensor.id.value(), 7);
  EXPECT_EQ(tensor.shape, someTensor().shape);
  EXPECT_EQ(tensor.hash, 99u);
  EXPECT_EQ(tensor.stats.inf, 3);
  EXPECT_TRUE(tensor.has_values);

  const ShardRecord shard{"labels", 2,        WorldRank::of(3), true,
                          1,        {4, 128}, {4, 32},          {{0, 16}, {112, 128}}};
  EXPECT_EQ(throughChunk(shard).global_from_local, shard.global_from_local);

  DiffRecord diff;
  diff.tensor = "dk";
  diff.ratio_by_rank = {0.1, 0.9};
  diff.worst_index = {0, 1, 2};
  EXPECT_EQ(throughChunk(diff).ratio_by_rank, diff.ratio_by_rank);
  EXPECT_EQ(throughChunk(diff).worst_index, diff.worst_index);
  diff.rows = {{1, 2, 3}, 2, {0, 127, 255}};
  EXPECT_EQ(throughChunk(diff).rows, diff.rows);
  EXPECT_FALSE(throughChunk(diff).quantisation);
  diff.quantisation = 0.03;
  EXPECT_EQ(throughChunk(diff).quantisation, 0.03);
  EXPECT_EQ(throughChunk(Note{"run", "{}"}).key, "run");
}

TEST(ChunkTest, ARunItsIntentItsGroupsAndItsScheduleComeBackAsTheyWere) {
  RunSpec run;
  run.balance = Balance::kStriped;
  run.text = {"a.txt", "b.txt"};
  run.seed = 0xFFFFFFFFFFFFFFFFULL;
  run.model.heads = 12;
  EXPECT_EQ(throughChunk(run), run);
  run.balance.reset();
  EXPECT_EQ(throughChunk(run), run);

  IntentRecord intent;
  intent.documents = {{0, 20}, {20, 64}};
  intent.buffers = {{"labels", 1}};
  intent.ranks = {WorldRank::of(2), WorldRank::of(3)};
  EXPECT_EQ(throughChunk(intent), intent);

  const GroupRecord group{GroupId::of(3), GroupAxis::kCp, {WorldRank::of(4), WorldRank::of(5)}};
  EXPECT_EQ(throughChunk(group), group);

  ScheduleRecord schedule;
  schedule.ring = {WorldRank::of(0), WorldRank::of(2)};
  schedule.rows = {{0, 16, 1}, {48, 16, 1}};
  schedule.kv_heads = {0, 1};
  StageRecord stage;
  stage.why_empty = WhyEmpty::kFuture;
  stage.pieces = {{0, 16, 0, 16, PieceMask::kTileMask, -3, 2}};
  schedule.stages = {stage, stage};
  EXPECT_EQ(throughChunk(schedule), schedule);
}

TEST(ChunkTest, ValuesThatAFieldCannotHaveAreRefused) {
  Event event;
  event.rank = WorldRank::of(3);
  Chunk chunk = makeChunk(event);
  // The last column is the clock: one row, one byte.
  chunk.body.back() = 2 * static_cast<std::uint8_t>(Clock::kCount);
  EXPECT_ERROR(decodeRows<Event>(chunk), ErrorCode::kInput, "unknown clock");
  MemorySample sample;
  sample.rank = WorldRank::of(-5);
  EXPECT_ERROR(decodeRows<MemorySample>(makeChunk(sample)), ErrorCode::kInput, "-5 as rank");
}

TEST(ChunkTest, MoreRowsThanBytesAreRefusedBeforeAllocation) {
  Chunk chunk = eventChunk(10);
  chunk.rows = 0xFFFFFFFF;
  EXPECT_ERROR(decodeRows<Event>(chunk), ErrorCode::kInput, "more rows");
}

TEST(ChunkTest, TruncationAtEveryByteIsRefused) {
  const Chunk whole = eventChunk(20);
  for (std::size_t size = 0; size < whole.body.size(); ++size) {
    Chunk cut = whole;
    cut.body.resize(size);
    EXPECT_THROW(decodeRows<Event>(cut), Error) << size;
  }
}

TEST(ChunkTest, ChecksumCoversHeaderAndBody) {
  Chunk chunk = eventChunk(5);
  const auto sum = computeChecksum(chunk);
  chunk.rank = WorldRank::of(3);
  EXPECT_NE(computeChecksum(chunk), sum);
  chunk.rank = WorldRank::none();
  chunk.body[0] ^= 1;
  EXPECT_NE(computeChecksum(chunk), sum);
}

/// Decoders of untrusted bodies either return or throw Error. Under ASan and UBSan this test finds
/// other defects.
TEST(ChunkFuzzTest, RandomlyDamagedBodiesNeverCrash) {
  std::mt19937 random(11);
  const Chunk events = eventChunk(50);
  const TensorRecord tensor = someTensor();
  for (int round = 0; round < 20000; ++round) {
    Chunk chunk = events;
    if (round % 2) chunk = makeChunk(std::span<const TensorRecord>(std::vector{tensor, tensor}));
    for (int flips = 0; flips < 3; ++flips)
      chunk.body[random() % chunk.body.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
    if (round % 7 == 0) chunk.body.resize(random() % chunk.body.size());
    for (auto decode : {+[](const Chunk& c) { decodeRows<Event>(c); },
                        +[](const Chunk& c) { decodeRows<TensorRecord>(c); },
                        +[](const Chunk& c) { decodeRows<MemorySample>(c); },
                        +[](const Chunk& c) { decodeRows<ShardRecord>(c); },
                        +[](const Chunk& c) { decodeRows<DiffRecord>(c); },
                        +[](const Chunk& c) { decodeRows<Note>(c); },
                        +[](const Chunk& c) { decodeRows<EndRecord>(c); }}) {
      try {
        decode(chunk);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace ringscope::traces

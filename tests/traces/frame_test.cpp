// SPDX-License-Identifier: Apache-2.0
#include "traces/format/stream/frame.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/support/expect_error.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::traces {
namespace {

Chunk noteChunk() {
  Chunk chunk = makeChunk(Note{"run", "{}"});
  chunk.seq = 5;
  chunk.rank = WorldRank::of(2);
  chunk.checksum = computeChecksum(chunk);
  return chunk;
}

TEST(FrameTest, DecodesFramesFromAStreamSplitAnywhere) {
  Bytes stream = encodeJsonFrame(R"({"cmd":"pause"})");
  const Bytes second = encodeChunkFrame(noteChunk());
  stream.insert(stream.end(), second.begin(), second.end());
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameDecoder decoder;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.feed(stream.data() + at, std::min(piece, stream.size() - at));
      while (auto frame = decoder.next()) frames.push_back(*frame);
    }
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(std::string(frames[0].body.begin(), frames[0].body.end()), R"({"cmd":"pause"})");
    EXPECT_EQ(decodeOne<Note>(decodeChunkFrame(frames[1])).key, "run");
    EXPECT_EQ(decodeChunkFrame(frames[1]).seq, 5u);
  }
}

TEST(FrameTest, ImpossibleLengthsAndTypesAreRefused) {
  for (const Bytes& bad :
       {Bytes{0, 0, 0, 0, 'J'}, Bytes{255, 255, 255, 255, 'J'}, Bytes{2, 0, 0, 0, 'Z'}}) {
    FrameDecoder decoder;
    decoder.feed(bad.data(), bad.size());
    EXPECT_THROW(decoder.next(), Error);
  }
}

TEST(FrameTest, ADamagedChunkIsRefused) {
  Bytes bytes = encodeChunkFrame(noteChunk());
  bytes.back() ^= 1;
  FrameDecoder decoder;
  decoder.feed(bytes.data(), bytes.size());
  EXPECT_ERROR(decodeChunkFrame(*decoder.next()), ErrorCode::kInput, "damaged");
}

TEST(FrameFuzzTest, RandomStreamsNeverCrash) {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes = encodeChunkFrame(noteChunk());
    for (int i = 0; i < 4; ++i)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    FrameDecoder decoder;
    try {
      decoder.feed(bytes.data(), bytes.size());
      while (auto frame = decoder.next())
        if (frame->type == FrameType::kChunk) decodeChunkFrame(*frame);
    } catch (const Error&) {
    }
  }
}

TEST(FrameWriterTest, AReaderThatDoesNotReadNeverBlocksTheWriter) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  FrameWriter writer(ends[1], 1 << 20);
  int refused = 0;
  for (int i = 0; i < 100; ++i) refused += !writer.offer(Bytes(100'000));
  EXPECT_GT(refused, 80);
  close(ends[0]);
}

TEST(FrameWriterTest, AWaitingWriterLosesNothingAndEndsWithTheReader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  FrameWriter writer(ends[1], 10'000);
  std::atomic<int> sent{0};
  std::thread sender([&] {
    for (int i = 0; i < 300; ++i)
      sent += writer.waitAndSend(encodeJsonFrame(std::string(900, 'x')));
  });
  FrameDecoder decoder;
  int arrived = 0;
  for (char buffer[700]; arrived < 100;) {
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    decoder.feed(buffer, static_cast<std::size_t>(n));
    while (decoder.next()) ++arrived;
  }
  EXPECT_LT(sent, 300) << "the queue and the pipe do not hold so many";
  close(ends[0]);
  sender.join();
  EXPECT_GE(sent, 100);
}

}  // namespace
}  // namespace ringscope::traces

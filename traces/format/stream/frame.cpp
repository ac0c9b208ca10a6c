// SPDX-License-Identifier: Apache-2.0
#include "traces/format/stream/frame.h"

namespace ringscope::traces {

Bytes encodeFrame(FrameType type, const Bytes& body) {
  ByteWriter out;
  out.fixed(static_cast<std::uint32_t>(body.size() + 1));
  out.fixed(static_cast<std::uint8_t>(type));
  out.raw(body.data(), body.size());
  return out.take();
}

Bytes encodeJsonFrame(const std::string& json) {
  return encodeFrame(FrameType::kJson, Bytes(json.begin(), json.end()));
}

void writeHeader(ByteWriter& out, const ChunkHeader& header) {
  out.fixed(header.seq);
  out.fixed(static_cast<std::uint8_t>(header.kind));
  out.fixed(static_cast<std::int16_t>(header.rank.value()));
  out.fixed(header.key);
  out.fixed(header.rows);
  out.fixed(header.checksum);
}

bool readHeader(ByteReader& in, ChunkHeader& header) {
  header.seq = in.fixed<std::uint64_t>();
  const auto kind = in.fixed<std::uint8_t>();
  if (kind >= static_cast<std::uint8_t>(ChunkKind::kCount)) return false;
  header.kind = static_cast<ChunkKind>(kind);
  header.rank = WorldRank::of(in.fixed<std::int16_t>());
  header.key = in.fixed<std::uint64_t>();
  header.rows = in.fixed<std::uint32_t>();
  header.checksum = in.fixed<std::uint64_t>();
  return true;
}

Bytes encodeChunkFrame(const Chunk& chunk) {
  ByteWriter out;
  writeHeader(out, chunk);
  out.raw(chunk.body.data(), chunk.body.size());
  return encodeFrame(FrameType::kChunk, out.take());
}

Chunk decodeChunkFrame(const Frame& frame) {
  ByteReader in(frame.body);
  Chunk chunk;
  if (!readHeader(in, chunk))
    throw inputError("the control connection carries a chunk of an unknown kind");
  const std::size_t size = in.left();
  const std::uint8_t* body = in.raw(size);
  chunk.body.assign(body, body + size);
  if (computeChecksum(chunk) != chunk.checksum)
    throw inputError("a chunk on the control connection is damaged: its checksum differs");
  return chunk;
}

nlohmann::json parseFrameJson(const Frame& frame) {
  return parseJson({reinterpret_cast<const char*>(frame.body.data()), frame.body.size()},
                   "a message of the control connection");
}

void FrameDecoder::feed(const void* data, std::size_t size) {
  if (at_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
  }
  const auto* p = static_cast<const std::uint8_t*>(data);
  buffer_.insert(buffer_.end(), p, p + size);
}

std::optional<Frame> FrameDecoder::next() {
  constexpr std::size_t kHeader = sizeof(std::uint32_t) + 1;
  if (buffer_.size() - at_ < kHeader) return std::nullopt;
  ByteReader in(buffer_.data() + at_, buffer_.size() - at_);
  const auto length = in.fixed<std::uint32_t>();
  const auto type = in.fixed<std::uint8_t>();
  if (length == 0 || length > most_bytes_)
    throw inputError("the control connection carries a frame of an impossible length");
  if (type != static_cast<std::uint8_t>(FrameType::kJson) &&
      type != static_cast<std::uint8_t>(FrameType::kChunk) &&
      type != static_cast<std::uint8_t>(FrameType::kHeaders))
    throw inputError("the control connection carries a frame of an unknown type");
  if (in.left() < length - 1) return std::nullopt;
  const std::uint8_t* body = in.raw(length - 1);
  Frame frame{static_cast<FrameType>(type), Bytes(body, body + length - 1)};
  at_ += sizeof(std::uint32_t) + length;
  return frame;
}

}  // namespace ringscope::traces

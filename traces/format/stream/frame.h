// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "traces/format/core/bytes.h"
#include "traces/format/core/json.h"
#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// The version of the control connection. Both sides state theirs in `hello`.
inline constexpr int kControlVersion = 0;
/// The largest size of a frame; a reader rejects a larger one.
inline constexpr std::uint32_t kMaxFrameBytes = 512u << 20;
/// The largest size of a request to a run.
inline constexpr std::uint32_t kMaxRequestBytes = 1u << 20;

enum class FrameType : std::uint8_t {
  kJson = 'J',
  kChunk = 'C',
  kHeaders = 'H'  ///< descriptions of chunks; only `ringscope serve` sends them
};

/// One message of the control connection. On the wire: u32 length of what follows, u8 type, body.
struct Frame {
  FrameType type = FrameType::kJson;
  Bytes body;
};

Bytes encodeFrame(FrameType type, const Bytes& body);
Bytes encodeJsonFrame(const std::string& json);
/// The bytes of a chunk's header in a frame.
constexpr std::size_t kHeaderBytes = 8 + 1 + 2 + 8 + 4 + 8;
void writeHeader(ByteWriter& out, const ChunkHeader& header);
/// Returns false when the kind of the chunk is unknown. Throws inputError when bytes are missing.
bool readHeader(ByteReader& in, ChunkHeader& header);

Bytes encodeChunkFrame(const Chunk& chunk);
/// Decodes a chunk. Throws inputError when the frame is malformed or its checksum does not match.
Chunk decodeChunkFrame(const Frame& frame);

/// Returns the document of a JSON frame, within the limits of json.h. Throws inputError.
nlohmann::json parseFrameJson(const Frame& frame);

/// A decoder that cuts a byte stream into frames. Throws inputError on an impossible length or
/// type; the stream cannot be used afterwards.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::uint32_t most_bytes = kMaxFrameBytes) : most_bytes_(most_bytes) {}
  void feed(const void* data, std::size_t size);
  std::optional<Frame> next();

 private:
  std::uint32_t most_bytes_;
  Bytes buffer_;
  std::size_t at_ = 0;
};

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "traces/format/core/json.h"
#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// Version of the control connection; both sides say theirs in `hello`.
inline constexpr int kControlVersion = 0;
/// No frame is larger; a reader refuses one that claims to be.
inline constexpr std::uint32_t kMaxFrameBytes = 512u << 20;
/// No request is; what a run is asked is short.
inline constexpr std::uint32_t kMaxRequestBytes = 1u << 20;

enum class FrameType : std::uint8_t { kJson = 'J', kChunk = 'C' };

/// One message of the control connection. On the wire: u32 length of what follows, u8 type, body.
struct Frame {
  FrameType type = FrameType::kJson;
  Bytes body;
};

Bytes encodeFrame(FrameType type, const Bytes& body);
Bytes encodeJsonFrame(const std::string& json);
Bytes encodeChunkFrame(const Chunk& chunk);
/// Verifies the checksum. Throws inputError.
Chunk decodeChunkFrame(const Frame& frame);

/// The document of a JSON frame, within the limits of json.h. Throws inputError.
nlohmann::json parseFrameJson(const Frame& frame);

/// Cuts a byte stream into frames. Throws inputError on a length or type that cannot be; the
/// stream is then of no further use.
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

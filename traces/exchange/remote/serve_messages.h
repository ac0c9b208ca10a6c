// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "traces/format/schema/chunk.h"
#include "traces/format/stream/frame.h"

namespace ringscope::traces {

// The messages between a reader and `ringscope serve`, which serves one recording on its standard
// input and output. Requests and answers are JSON frames. Chunks are chunk frames, and descriptions
// of chunks are header frames. The server answers requests in their order.

/// The version of these messages. Both sides must have the same.
inline constexpr int kServeVersion = 1;
/// The largest number of headers in one frame.
inline constexpr std::size_t kMostHeaders = 4096;
/// The largest chunk that fits into a frame.
inline constexpr std::size_t kMostServedBytes = kMaxFrameBytes - 64;

/// Requests the descriptions of all chunks: ServedHeaders for chunks of values and for chunks of
/// events that have a summary, and whole chunks otherwise. Summaries come first. A ServedProblem
/// stands for a chunk that cannot be read. Listed ends the answer.
struct ListRequest {};
/// Requests one chunk. The answer is a chunk or Refusal.
struct ReadRequest {
  std::uint64_t seq = 0;
};
/// Requests the values of a tensor. The answer is a chunk of values, NoValues or Refusal.
struct ValuesRequest {
  std::uint64_t tensor = 0;
};
using ServeRequest = std::variant<ListRequest, ReadRequest, ValuesRequest>;

/// The first message of the server, before it opens the recording.
struct ServerHello {
  int version = kServeVersion;
  int format = kFormatVersion;  ///< the format of the chunks that it sends
  std::string release;          ///< the version of RingScope
};
/// The second message: the recording is open.
struct Opened {
  std::uint64_t bytes = 0;  ///< the size of the recording's files
};
/// The server is at work on a request. Sent every second, so that a reader notices a lost
/// connection.
struct Busy {};
struct Listed {};
struct NoValues {};
struct ServedProblem {
  std::string sentence;
};
struct Refusal {
  std::string sentence;
};
using ServedHeaders = std::vector<ChunkHeader>;
using ServeMessage = std::variant<ServerHello, Opened, Busy, Listed, NoValues, ServedProblem,
                                  Refusal, ServedHeaders, Chunk>;

Bytes encodeServeRequest(const ServeRequest& request);
/// Throws inputError when the frame is no request.
ServeRequest decodeServeRequest(const Frame& frame);

/// Encodes a message. Headers must be at most kMostHeaders, and a chunk at most kMostServedBytes.
Bytes encodeServeMessage(const ServeMessage& message);
/// Decodes a message of the server, and checks the checksum of a chunk. Throws inputError when the
/// frame is malformed.
ServeMessage decodeServeMessage(const Frame& frame);

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// A recording to serve. `open` can take long and can throw Error.
struct ServedRecording {
  std::function<std::shared_ptr<ChunkSource>()> open;
  std::function<std::uint64_t()> bytes;  ///< the size of the recording's files
  std::string release;                   ///< the version of RingScope
};

/// Waits for bytes of requests, and returns how many it has put into the buffer; 0 at the end.
using ReadInput = std::function<std::size_t(std::span<char> buffer)>;

/// Serves one recording, read only, until the requests end or nobody reads the answers. Writes
/// answers to the descriptor `output`, which it closes. Throws inputError when a request is
/// malformed.
void serveRecording(const ServedRecording& recording, const ReadInput& input, int output);

}  // namespace ringscope::traces

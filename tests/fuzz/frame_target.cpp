// SPDX-License-Identifier: Apache-2.0
// A stream of the control connection, as either side reads it.
#include "tests/fuzz/allowed.h"
#include "traces/exchange/control/messages.h"
#include "traces/format/stream/frame.h"

namespace {

using namespace ringscope::traces;

void take(const Frame& frame) {
  if (frame.type == FrameType::kChunk) return allowed([&] { decodeChunkFrame(frame); });
  allowed([&] {
    const auto json = parseFrameJson(frame);
    allowed([&] { control::decodeRequest(json); });
    allowed([&] { control::decodeMessage(json); });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  allowed([&] {
    FrameDecoder decoder;
    decoder.feed(data, size / 2);
    while (const auto frame = decoder.next()) take(*frame);
    decoder.feed(data + size / 2, size - size / 2);
    while (const auto frame = decoder.next()) take(*frame);
  });
  return 0;
}

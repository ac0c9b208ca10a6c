// SPDX-License-Identifier: Apache-2.0
// A stream of `ringscope serve`, as its reader and as the server read it.
#include "tests/fuzz/allowed.h"
#include "traces/exchange/remote/remote_address.h"
#include "traces/exchange/remote/serve_messages.h"
#include "traces/format/trace/trace.h"

namespace {

using namespace ringscope::traces;

/// Adds what a reader adds to its trace.
void add(Trace& trace, const ServeMessage& message) {
  if (const auto* chunk = std::get_if<Chunk>(&message))
    allowed([&] { trace.add(upgraded(*chunk, kOldestFormat)); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (isRemoteAddress(text)) allowed([&] { parseRemoteAddress(text); });
  Trace trace;
  allowed([&] {
    FrameDecoder decoder;
    decoder.feed(data, size / 2);
    decoder.feed(data + size / 2, size - size / 2);
    while (const auto frame = decoder.next()) {
      allowed([&] { add(trace, decodeServeMessage(*frame)); });
      allowed([&] { decodeServeRequest(*frame); });
    }
  });
  return 0;
}

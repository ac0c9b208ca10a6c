// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/actions.h"
#include "traces/exchange/control/messages.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/utf8.h"
#include "traces/format/safetensors/safetensors.h"
#include "traces/format/stream/frame.h"
#include "traces/format/trace/trace.h"
#include "traces/plan/run_rules.h"
#include "viz/scene/memory_estimate.h"

namespace ringscope::test {
namespace {

/// Returns the answer of a program for a file that it may not be able to use.
template <typename Read>
Answer read(const Read& read) {
  try {
    return {0, read(), ""};
  } catch (const Error& error) {
    return {2, "", "ringscope: " + traces::toPlainText(error.what()) + "\n"};
  }
}

/// Handles one frame: a request, a message, or a chunk that is added to a trace. Returns the number
/// of accepted frames.
int take(const traces::Frame& frame, traces::Trace& trace) {
  if (frame.type == traces::FrameType::kChunk) {
    trace.add(traces::decodeChunkFrame(frame));
    return 1;
  }
  const nlohmann::json sent = traces::parseFrameJson(frame);
  int understood = 0;
  try {
    traces::control::decodeRequest(sent);
    ++understood;
  } catch (const Error&) {  // then the frame may be an answer
  }
  traces::control::decodeMessage(sent);
  return understood + 1;
}

}  // namespace

Answer readTensors(const Words& words) {
  return read([&] {
    const auto file = traces::SafeTensorsFile::read(words.at(0));
    std::uint64_t sum = 0;
    for (const auto& [name, view] : file.tensors())
      for (std::size_t i = 0; i < view.size_bytes; ++i) sum += view.data[i];
    return std::to_string(file.tensors().size()) + " tensors, sum " + std::to_string(sum);
  });
}

Answer readModel(const Words& words) {
  return read([&] {
    const auto shape = viz::ModelShape::load(words.at(0));
    std::string said = std::to_string(shape.parameters());
    for (const int ranks : {1, 8, 4096})
      for (const char* dtype : {"float32", "bfloat16"})
        said += " " +
                std::to_string(
                    viz::estimateMemory(shape, std::int64_t{1} << 30, ranks, ranks, dtype).total());
    return said;
  });
}

Answer readSettings(const Words& words) {
  return read([&] {
    traces::RunSpec run;
    traces::fromJson(traces::readJson(words.at(0)), run, words.at(0));
    return traces::toJson(run).dump();
  });
}

Answer readFrames(const Words& words) {
  return read([&] {
    const auto bytes = traces::readFileBytes(words.at(0));
    traces::FrameDecoder decoder;
    traces::Trace trace;
    int frames = 0;
    std::string refused;
    for (const std::uint8_t byte : bytes) {  // byte by byte, the smallest pieces in which it can
                                             // arrive
      decoder.feed(&byte, 1);
      while (const auto frame = decoder.next()) try {
          frames += take(*frame, trace);
        } catch (const Error& error) {
          refused = error.what();
        }
    }
    return std::to_string(frames) + " understood, " + traces::toPlainText(refused);
  });
}

}  // namespace ringscope::test

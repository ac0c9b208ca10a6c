// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/child_program.h"
#include "traces/format/stream/frame.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// The other end of a run's control connection, as the window uses it.
class Debugger {
 public:
  explicit Debugger(Child& child) : child_(child) {}
  void send(const nlohmann::json& message) {
    const auto frame = traces::encodeJsonFrame(message.dump());
    sendBytes({frame.begin(), frame.end()});
  }
  void sendBytes(const std::string& bytes) {
    EXPECT_EQ(::write(child_.input, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Receives chunks until a JSON frame with this key arrives. Returns null when the run has ended,
  /// or sends nothing for 20 seconds.
  nlohmann::json await(const std::string& key) {
    for (;;) {
      while (auto frame = decoder_.next()) {
        if (frame->type == traces::FrameType::kChunk) {
          const auto chunk = traces::decodeChunkFrame(*frame);
          trace.add(chunk);
          last_seq = chunk.seq;
          continue;
        }
        const auto message = nlohmann::json::parse(frame->body.begin(), frame->body.end());
        if (message.contains(key)) return message;
      }
      char buffer[65536];
      pollfd ready{child_.output, POLLIN, 0};
      if (::poll(&ready, 1, 20'000) <= 0) return {};
      const ssize_t n = ::read(child_.output, buffer, sizeof buffer);
      if (n <= 0) return {};
      decoder_.feed(buffer, static_cast<std::size_t>(n));
    }
  }
  nlohmann::json ask(const nlohmann::json& message) {
    send(message);
    return await("reply");
  }
  void closeInput() { close(child_.input); }
  void closeOutput() { close(child_.output); }
  traces::Trace trace;
  std::uint64_t last_seq = 0;

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  Child& child_;
  traces::FrameDecoder decoder_;
};

}  // namespace ringscope::test

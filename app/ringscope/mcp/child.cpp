// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/mcp/child.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "traces/format/core/child_process.h"

namespace ringscope::app {
namespace {

using Clock = std::chrono::steady_clock;

/// Reads what is there, and keeps at most `most` bytes in `text`. Returns the number of bytes read;
/// 0 at the end of the stream.
std::size_t take(int fd, std::string& text, std::size_t most) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count <= 0) return 0;
  const auto bytes = static_cast<std::size_t>(count);
  text.append(buffer.data(), std::min(bytes, most - std::min(most, text.size())));
  return bytes;
}

/// Reads both streams until the child closes them. Returns false when the time is over.
bool readAll(const traces::ChildProcess& child, const ChildLimits& limits, ChildResult& result) {
  const Clock::time_point end = Clock::now() + limits.time;
  std::array<pollfd, 2> streams{{{child.output(), POLLIN, 0}, {child.errors(), POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    if (::poll(streams.data(), streams.size(), static_cast<int>(left.count())) < 0) continue;
    if (streams[0].revents != 0) {
      const std::size_t bytes = take(streams[0].fd, result.out, limits.bytes);
      result.out_bytes += bytes;
      if (bytes == 0) streams[0].fd = -1;  // poll() ignores it
    }
    if (streams[1].revents != 0 && take(streams[1].fd, result.err, limits.bytes) == 0)
      streams[1].fd = -1;
  }
  return true;
}

}  // namespace

ChildResult runChild(const std::vector<std::string>& command, const ChildLimits& limits) {
  traces::ChildProcess child(command);
  ChildResult result;
  result.timed_out = !readAll(child, limits, result);
  if (result.timed_out) child.kill();
  result.exit_code = child.wait();
  return result;
}

}  // namespace ringscope::app

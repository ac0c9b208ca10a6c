// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "traces/format/core/input_file.h"

namespace ringscope::test {

/// A rank's end of a live connection, as the recorder uses it.
class LiveClient {
 public:
  /// Connects to "127.0.0.1:PORT" or to the path of a Unix socket.
  explicit LiveClient(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    if (address.front() == '/') {
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::strncpy(to.sun_path, address.c_str(), sizeof to.sun_path - 1);
      connect(AF_UNIX, reinterpret_cast<sockaddr*>(&to), sizeof to);
    } else {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
      connect(AF_INET, reinterpret_cast<sockaddr*>(&to), sizeof to);
    }
  }
  ~LiveClient() { close(); }
  LiveClient(LiveClient&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LiveClient& operator=(LiveClient&&) = delete;

  bool isOpen() const { return descriptor_ >= 0; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  /// Sends bytes. Returns false once the other end has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool line(const std::string& text) { return send(text + "\n"); }
  /// Returns the next line from the listener; empty when the listener has closed or sends nothing
  /// within `longest_ms`.
  std::string hear(int longest_ms = 5000) {
    std::string text;
    for (char letter = 0;;) {
      pollfd end{descriptor_, POLLIN, 0};
      if (::poll(&end, 1, longest_ms) != 1 || ::recv(descriptor_, &letter, 1, 0) != 1) return "";
      if (letter == '\n') return text;
      text += letter;
    }
  }

  static std::string hello(int rank, int world_size, const std::string& token = "",
                           bool pauses = false) {
    return R"({"line":"hello","ringscope":"live","version":1,"rank":)" + std::to_string(rank) +
           R"(,"world_size":)" + std::to_string(world_size) + R"(,"token":")" + token +
           R"(","pauses":)" + (pauses ? "true}" : "false}");
  }
  static std::string header(int rank, int world_size) {
    return R"({"line":"header","ringscope":"recording","version":1,"rank":)" +
           std::to_string(rank) + R"(,"world_size":)" + std::to_string(world_size) +
           R"(,"clock":{"boot_id":"b","steady_ns":1,"unix_ns":2}})";
  }
  /// Returns the announcement of a file of values, and its bytes.
  static std::string values(const std::string& folder, const std::string& name) {
    const std::string bytes = traces::readFile(folder + "/" + name);
    return R"({"line":"values","file":")" + name + R"(","bytes":)" + std::to_string(bytes.size()) +
           "}\n" + bytes;
  }

 private:
  void connect(int family, const sockaddr* to, socklen_t size) {
    descriptor_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(descriptor_, to, size) != 0) close();
  }

  int descriptor_ = -1;
};

}  // namespace ringscope::test

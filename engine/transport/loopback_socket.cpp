// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/loopback_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "traces/format/core/error.h"

namespace ringscope::engine {

LoopbackSocket listenOnLoopback(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  constexpr int kYes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  const bool fine = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    ::listen(fd, SOMAXCONN) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (fine) return {fd, ntohs(address.sin_port)};
  const std::string reason = std::strerror(errno);
  if (fd >= 0) ::close(fd);
  throw runFailed("the ranks cannot meet at " +
                  (port > 0 ? "port " + std::to_string(port) : "a port") +
                  " of 127.0.0.1: " + reason);
}

}  // namespace ringscope::engine

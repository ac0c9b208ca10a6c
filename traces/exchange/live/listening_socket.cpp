// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/live/listening_socket.h"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failToListen(const std::string& address) {
  throw inputError("it is not possible to listen at " + address + ": " + std::strerror(errno));
}

/// Creates the folder so that no other user can put a socket into it.
void makeOwnFolder(const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  ::mkdir(folder.c_str(), 0700);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) ||
      found.st_uid != ::geteuid() || (found.st_mode & 077) != 0)
    throw inputError(folder.string() + " is not a folder of this user alone; say where to listen");
}

sockaddr_un unixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    throw usageError("'" + path + "' is too long for a Unix socket; name a shorter path");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

/// Removes a socket file that nobody listens on any more.
void removeStale(const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(address.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode) ||
      found.st_uid != ::geteuid())
    return;
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool taken =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  if (taken)
    throw inputError("somebody else listens at " + std::string(address.sun_path) +
                     "; say another address");
  ::unlink(address.sun_path);
}

bool isPort(const std::string& text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string::npos && std::stoi(text) < 65536;
}

}  // namespace

ListeningSocket::ListeningSocket(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const bool named = address.starts_with("unix:");
  const bool is_tcp = !named && address.find('/') == std::string::npos &&
                      colon != std::string::npos && isPort(address.substr(colon + 1));
  if (!is_tcp) {
    openUnix(address.empty() ? defaultPath() : address.substr(named ? 5 : 0));
    return;
  }
  const std::string host = address.substr(0, colon);
  if (host != "127.0.0.1" && host != "localhost")
    throw usageError("'" + address +
                     "' is not on this machine; listen at 127.0.0.1:PORT and let jobs elsewhere "
                     "come through ssh -R PORT:127.0.0.1:PORT");
  openTcp(address.substr(colon + 1));
}

ListeningSocket::~ListeningSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::string ListeningSocket::defaultPath() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const fs::path folder = runtime && *runtime
                              ? fs::path(runtime) / "ringscope"
                              : fs::path("/tmp/ringscope-" + std::to_string(::geteuid()));
  return (folder / "live.sock").string();
}

void ListeningSocket::openUnix(const std::string& path) {
  if (path == defaultPath()) makeOwnFolder(fs::path(path).parent_path());
  const sockaddr_un address = unixAddress(path);
  removeStale(address);
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // Another user could connect before the mode is set; isOfOwner() refuses such a connection.
  if (descriptor_ < 0 ||
      ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    failToListen(path);
  path_ = path;
  address_ = fs::absolute(path).string();
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(descriptor_, SOMAXCONN) != 0) failToListen(path);
}

void ListeningSocket::openTcp(const std::string& port) {
  descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  constexpr int kYes = 1;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  socklen_t size = sizeof address;
  if (descriptor_ < 0 ||
      ::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(descriptor_, SOMAXCONN) != 0 ||
      ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    failToListen("127.0.0.1:" + port);
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

bool ListeningSocket::isOfOwner(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

std::string randomToken() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw inputError("the system has no random numbers for a token");
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

bool isSameToken(const std::string& a, const std::string& b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    different |= static_cast<unsigned char>(a[a.empty() ? 0 : i % a.size()] ^ b[i]);
  return different == 0;
}

}  // namespace ringscope::traces

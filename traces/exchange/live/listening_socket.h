// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// A socket that only this machine can reach: a Unix socket of mode 0600, or TCP on 127.0.0.1.
class ListeningSocket {
 public:
  /// Opens the socket. The address is "127.0.0.1:PORT" (0: any free port) or the path of a Unix
  /// socket ("unix:PATH" when the path looks like a TCP address). An empty address is
  /// defaultPath(). Throws usageError or inputError.
  explicit ListeningSocket(const std::string& address);
  ~ListeningSocket();  ///< removes the file of a Unix socket
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int descriptor() const { return descriptor_; }
  bool isTcp() const { return path_.empty(); }
  /// Returns the address in the form of RINGSCOPE_LIVE.
  const std::string& address() const { return address_; }

  /// Reports whether the other end of a connection is a process of this user or of root. TCP does
  /// not tell that, so a token is needed there.
  static bool isOfOwner(int connection);

  /// Returns "live.sock" in a folder that only this user can access: $XDG_RUNTIME_DIR/ringscope, or
  /// else /tmp/ringscope-UID.
  static std::string defaultPath();

 private:
  void openUnix(const std::string& path);
  void openTcp(const std::string& port);

  int descriptor_ = -1;
  std::string path_;  ///< path of a Unix socket
  std::string address_;
};

/// Returns 32 random hexadecimal digits.
std::string randomToken();
/// Compares two tokens in a time that does not depend on how much of them is equal.
bool isSameToken(const std::string& a, const std::string& b);

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/support/child_program.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/free_port.h"

namespace ringscope::test {

/// OpenSSH's server on a loopback port, with keys that were made for it.
class SshServer {
 public:
  static constexpr const char* kProgram = "/usr/sbin/sshd";
  /// Reports whether the server and its tools are installed.
  static bool isInstalled() {
    return std::filesystem::exists(kProgram) && std::filesystem::exists("/usr/bin/ssh-keygen");
  }

  /// `start` is the folder in which commands start, instead of the home folder.
  explicit SshServer(const std::string& start = {}) {
    makeKey("host");
    makeKey("user");
    makeKey("stranger");
    std::filesystem::copy(folder_.file("user.pub"), folder_.file("authorized"));
    port_ = std::to_string(freePort());
    std::ofstream(folder_.file("known"))
        << "[127.0.0.1]:" << port_ << " " << readContent(folder_.file("host.pub"));
    if (::geteuid() == 0) std::filesystem::create_directories("/run/sshd");
    std::vector<std::string> arguments{"-D", "-e",  "-f", "/dev/null",
                                       "-p", port_, "-h", folder_.file("host")};
    for (const std::string& option :
         {std::string("ListenAddress=127.0.0.1"),
          "AuthorizedKeysFile=" + folder_.file("authorized"), std::string("StrictModes=no"),
          std::string("UsePAM=no"), std::string("PidFile=none"),
          std::string("PasswordAuthentication=no")})
      arguments.insert(arguments.end(), {"-o", option});
    if (!start.empty())
      arguments.insert(arguments.end(),
                       {"-o", "ForceCommand=cd '" + start + "' && eval \"$SSH_ORIGINAL_COMMAND\""});
    const auto nothing = [] {};
    server_ = std::make_unique<Child>(arguments, folder_.file("log"), nothing, kProgram);
    listens_ = eventually([this] { return accepts(); }, std::chrono::seconds(10));
  }

  bool listens() const { return listens_; }
  std::string log() const { return readContent(folder_.file("log")); }
  /// Returns the address of a path on this server.
  std::string address(const std::string& path) const { return "ssh://127.0.0.1:" + port_ + path; }
  /// Returns the words that replace `ssh`, with the user's key or a stranger's.
  std::string client(const std::string& key = "user") const {
    return "ssh -F none -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=" +
           folder_.file("known") + " -i " + folder_.file(key);
  }
  /// Returns the command prefix that reaches this server.
  std::string prefix() const { return client() + " -p " + port_ + " 127.0.0.1"; }
  /// Ends the server's connections, as a lost network does, but keeps the server.
  void endConnections() const {
    for (const pid_t pid : server_->children()) ::kill(pid, SIGKILL);
  }

 private:
  void makeKey(const std::string& name) const {
    const std::string command =
        "ssh-keygen -q -t ed25519 -N '' -C '' -f '" + folder_.file(name) + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  bool accepts() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port_)));
    const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    return connected;
  }

  TempDir folder_;
  std::string port_;
  std::unique_ptr<Child> server_;
  bool listens_ = false;
};

}  // namespace ringscope::test

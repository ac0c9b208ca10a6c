// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "traces/format/core/bytes.h"

namespace ringscope::traces {

/// A child process and the pipes from its standard output and standard error.
class ChildProcess {
 public:
  enum class Input {
    kEmpty,     ///< the child reads /dev/null
    kConnected  ///< the child reads what send() is given
  };

  /// Starts the program `command[0]`, which is searched in PATH when it has no slash. Throws
  /// runFailed when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command, Input input = Input::kEmpty);
  /// Kills the child, unless wait() has returned.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The descriptors from which the child's output and errors are read.
  int output() const { return out_; }
  int errors() const { return err_; }
  enum class Came { kBytes, kEnd, kNothing };
  /// Waits at most `most` for output or errors, and appends what has come. kEnd: the child has
  /// closed its output.
  Came read(std::chrono::milliseconds most, std::string& output, std::string& errors);
  /// Appends errors until the child has closed them or the time is over.
  void readErrors(std::chrono::milliseconds most, std::string& errors);
  /// Sends bytes to the child. Returns false when the child does not read any more.
  bool send(const Bytes& bytes) const;
  /// Ends the child's standard input.
  void closeInput();
  void kill() const;
  /// Waits until the child has ended. Returns its exit code, or 128 + the signal that killed it.
  int wait();

 private:
  bool appendErrors(std::string& errors);

  int in_ = -1, out_ = -1, err_ = -1;
  int pid_ = -1;
  bool errors_end_ = false;
  int exit_code_ = -1;
};

}  // namespace ringscope::traces

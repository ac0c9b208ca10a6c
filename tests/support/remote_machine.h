// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/support/files.h"
#include "traces/exchange/remote/remote_address.h"
#include "traces/format/core/bytes.h"
#include "traces/format/core/shell_word.h"

namespace ringscope::test {

/// An environment variable that has another value until the end of the test.
class SetVariable {
 public:
  SetVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~SetVariable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// This machine as another one: command prefixes that need no network.
class RemoteMachine {
 public:
  /// Writes a shell script with these lines, and returns the command prefix that runs it. The
  /// script finds the command line in $1.
  std::string script(const std::string& lines) {
    const std::string path = folder_.file("script" + std::to_string(++scripts_));
    std::ofstream(path) << lines << "\n";
    return "sh " + path;
  }
  /// Returns a prefix whose output are these bytes, after which it ends, or waits.
  std::string says(const traces::Bytes& bytes, bool then_waits = false) {
    const std::string path = folder_.file("bytes" + std::to_string(++scripts_));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return script("echo 'ringscope begins'; cat " + path + (then_waits ? "; cat > /dev/null" : ""));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TempDir folder_;
  int scripts_ = 0;
  SetVariable program_{"RINGSCOPE_REMOTE", traces::quoteWord(kProgram)};
};

}  // namespace ringscope::test

// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <sstream>

#include "app/command_line/command_list.h"
#include "app/command_line/program.h"
#include "tests/hostile/actions.h"

namespace ringscope::app {
RINGSCOPE_READING_COMMANDS(RINGSCOPE_DECLARE_COMMAND)
}  // namespace ringscope::app

namespace ringscope::test {
namespace {

using namespace app;  // the list of commands names the functions without the namespace
constexpr Command kCommands[] = {RINGSCOPE_READING_COMMANDS(RINGSCOPE_COMMAND_ENTRY)};

/// A redirection of a stream into a text, which lasts as long as the object.
class Caught {
 public:
  explicit Caught(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Caught() { stream_.rdbuf(before_); }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* before_;
};

}  // namespace

Answer runCommand(const Words& words) {
  std::vector<std::string> all = {"ringscope"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Caught out(std::cout), err(std::cerr);
  const int exit_code = runProgram(static_cast<int>(all.size()), argv.data(), kCommands);
  return {exit_code, out.text(), err.text()};
}

}  // namespace ringscope::test

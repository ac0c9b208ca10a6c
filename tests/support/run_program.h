// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/files.h"

namespace ringscope::test {

/// The exit code and output of a program.
struct Result {
  int code = -1;
  std::string out, err;
};

/// Runs a program through the shell, without input, until it ends.
inline Result runProgram(const std::string& program, const std::string& arguments) {
  TempDir dir;
  const std::string command =
      program + " " + arguments + " >" + dir.file("out") + " 2>" + dir.file("err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readContent(dir.file("out")),
          readContent(dir.file("err"))};
}

inline Result ringscope(const std::string& arguments) {
  return runProgram(test::kProgram, arguments);
}

inline void expectOneSentence(const Result& result, const std::string& words) {
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.out, "");
}

}  // namespace ringscope::test

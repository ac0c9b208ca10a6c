// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/sample_trace.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/files.h"

namespace ringscope::test {

std::string sampleTraceFile(int cp, const std::vector<std::string>& mistakes) {
  static TempDir dir;
  static std::map<std::string, std::string> made;
  std::string key = std::to_string(cp), options;
  for (const auto& mistake : mistakes) key += "-" + mistake, options += " --mistake " + mistake;
  auto found = made.find(key);
  if (found == made.end()) {
    const std::string path = dir.file(key + ".rscope");
    const std::string command = std::string(RINGSCOPE_PROGRAM) + " train --text " + sampleText() +
                                " --steps 2 --seq-len 128 --verify --cp " + std::to_string(cp) +
                                options + " --trace " + path + " >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    found = made.emplace(key, path).first;
  }
  return found->second;
}

std::string sparseTraceFile() {
  static TempDir dir;
  const std::string path = dir.file("sparse.rscope");
  const std::string command = std::string(RINGSCOPE_PROGRAM) + " train --text " + sampleText() +
                              " --steps 1 --seq-len 64 --capture none --trace " + path +
                              " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

std::shared_ptr<traces::Trace> sampleTrace(int cp, const std::vector<std::string>& mistakes) {
  return traces::openTrace(sampleTraceFile(cp, mistakes));
}

}  // namespace ringscope::test

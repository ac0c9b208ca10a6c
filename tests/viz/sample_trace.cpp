// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/sample_trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::test {

std::string sampleTraceFile(int cp, const std::vector<std::string>& mistakes) {
  static TempDir dir;
  static std::map<std::string, std::string> made;
  std::string key = std::to_string(cp), options;
  for (const auto& mistake : mistakes) key += "-" + mistake, options += " --mistake " + mistake;
  auto found = made.find(key);
  if (found == made.end()) {
    const std::string path = dir.file(key + ".rscope");
    const std::string command = std::string(test::kProgram) + " train --text " + sampleText() +
                                " --steps 2 --seq-len 128 --verify --cp " + std::to_string(cp) +
                                options + " --trace " + path + " >/dev/null";
    const int code = WEXITSTATUS(std::system(command.c_str()));
    EXPECT_EQ(code, mistakes.empty() ? 0 : 1) << command;  // --verify detects the mistakes
    found = made.emplace(key, path).first;
  }
  return found->second;
}

std::string traceFileWith(const std::string& options) {
  static TempDir dir;
  static int made = 0;
  const std::string path = dir.file(std::to_string(made++) + ".rscope");
  const std::string command = std::string(test::kProgram) + " train --text " + sampleText() +
                              " --steps 1 --seq-len 64 " + options + " --trace " + path +
                              " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

std::string documentsTraceFile(const std::string& options) {
  static TempDir dir;
  static int made = 0;
  const std::string path = dir.file(std::to_string(made++) + ".rscope");
  const std::string command = std::string(test::kProgram) + " attend " +
                              reference("attention/documents.safetensors") + " --cp 4 " + options +
                              " -o " + dir.file("out") + " --trace " + path + " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

namespace {

/// Writes a safetensors file of int64 tensors [1, 1, 32].
void writeTokens(const std::string& path,
                 const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& tensors) {
  nlohmann::json header;
  std::size_t at = 0;
  for (const auto& [name, values] : tensors) {
    const std::size_t bytes = values.size() * sizeof(std::int64_t);
    header[name] = {
        {"dtype", "I64"}, {"shape", {1, 1, values.size()}}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t size = text.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << text;
  // nlohmann sorts the keys, but only the offsets matter.
  for (const auto& [name, values] : tensors)
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(std::int64_t)));
}

}  // namespace

std::string packedTraceFile() {
  static TempDir dir;
  std::vector<std::int64_t> tokens, labels, positions;
  for (std::int64_t i = 0; i < 32; ++i) {
    tokens.push_back('a' + i % 26);
    labels.push_back(i == 31 ? -100 : 'a' + (i + 1) % 26);
    positions.push_back(i < 20 ? i : i - 20);
  }
  writeTokens(dir.file("tokens"),
              {{"input_ids", tokens}, {"labels", labels}, {"position_ids", positions}});
  const std::string path = dir.file("packed.rscope");
  const std::string command = std::string(test::kProgram) + " train --tokens " +
                              dir.file("tokens") + " --steps 1 --cp 2 --verify --trace " + path +
                              " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

std::shared_ptr<traces::Trace> sampleTrace(int cp, const std::vector<std::string>& mistakes) {
  return traces::openTrace(sampleTraceFile(cp, mistakes));
}

}  // namespace ringscope::test

// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/commands/document_lengths.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/json.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

using namespace traces;

/// Collects lengths and checks each.
class Collector {
 public:
  explicit Collector(std::string source) : source_(std::move(source)) {}

  /// Adds a length as it is written. `where`: " line 3" or " item 3".
  void add(const std::string& written, const std::string& where) {
    std::int64_t length = 0;
    const char* const end = written.data() + written.size();
    const auto [rest, error] = std::from_chars(written.data(), end, length);
    if (error == std::errc::result_out_of_range) rejectSum(where);
    if (error != std::errc() || rest != end)
      reject(where, "'" + toPlainText(written, 40) + "' is not a document length");
    if (length < 1)
      reject(where, "a document of " + std::to_string(length) + " tokens cannot be dealt");
    if (length > kMostTokens - tokens_) rejectSum(where);
    tokens_ += length;
    sequences_.back().push_back(length);
  }

  void beginSequence() {
    if (!sequences_.back().empty()) sequences_.emplace_back();
  }

  DocumentLengths take() {
    if (sequences_.back().empty()) sequences_.pop_back();
    if (sequences_.empty())
      throw inputError(source_ +
                       ": holds no document lengths; write one length per line, in "
                       "tokens");
    return std::move(sequences_);
  }

 private:
  [[noreturn]] void reject(const std::string& where, const std::string& what) const {
    throw inputError(source_ + ":" + where + ": " + what +
                     "; use whole numbers of tokens from 1 on");
  }
  [[noreturn]] void rejectSum(const std::string& where) const {
    throw inputError(source_ + ":" + where + ": the documents have more than " +
                     describeCount(kMostTokens, "token") + " up to here; use a sample of them");
  }

  std::string source_;
  DocumentLengths sequences_ = {{}};
  std::int64_t tokens_ = 0;
};

void addJson(const nlohmann::json& list, const std::string& at, Collector& lengths) {
  std::size_t item = 0;
  for (const nlohmann::json& value : list) {
    const std::string where = at + std::to_string(++item);
    if (!value.is_array()) {
      lengths.add(value.is_string() ? value.get<std::string>() : value.dump(), where);
      continue;
    }
    lengths.beginSequence();
    if (at != " item ") lengths.add("a list", where);  // a sequence holds no sequences
    addJson(value, where + ", item ", lengths);
    lengths.beginSequence();
  }
}

void addLine(std::string line, const std::string& where, Collector& lengths) {
  line.resize(std::min(line.size(), line.find('#')));
  std::ranges::replace_if(
      line, [](char c) { return c == ',' || c == '\t' || c == '\r'; }, ' ');
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word == "---")
      lengths.beginSequence();
    else
      lengths.add(word, where);
}

std::string readStandardInput() {
  std::string text(kMaxJsonBytes + 1, ' ');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  if (text.size() > kMaxJsonBytes)
    throw inputError("standard input: has more than " +
                     describeBytes(static_cast<std::int64_t>(kMaxJsonBytes)) +
                     "; use a sample of the documents");
  return text;
}

std::string readText(const std::string& path) {
  if (path == "-") return readStandardInput();
  if (!std::filesystem::exists(path))
    throw inputError(path +
                     ": no such file; --documents takes a file with one document length per line, "
                     "or - for standard input");
  return readFile(path, kMaxJsonBytes);
}

}  // namespace

DocumentLengths readDocumentLengths(const std::string& path) {
  const std::string text = readText(path), source = path == "-" ? "standard input" : path;
  Collector lengths(source);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '[') {
    addJson(parseJson(text, source), " item ", lengths);
    return lengths.take();
  }
  std::istringstream lines(text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);)
    addLine(line, " line " + std::to_string(++number), lengths);
  return lengths.take();
}

}  // namespace ringscope::app

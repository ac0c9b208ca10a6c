// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/debug_mode/log.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "traces/format/core/error.h"
#include "traces/format/core/inflate.h"

namespace ringscope::traces {
namespace {

constexpr int kFirstByteOfGzip = 0x1f;
constexpr std::int64_t kMostDepth = 1'000'000;

/// The handler of nlohmann's parser for one log. The file is an object (depth 1), "logs" is a list
/// (2) of objects (3). Deeper values are hashes of tensors, which are not read.
class DebugLogHandler {
 public:
  explicit DebugLogHandler(const std::function<void(const DebugEntry&)>& take) : take_(take) {}

  // NOLINTBEGIN(readability-identifier-naming): the names by which nlohmann's parser calls them.
  bool null() { return true; }
  bool boolean(bool /*v*/) { return true; }
  bool number_integer(std::int64_t /*v*/) { return true; }
  bool number_unsigned(std::uint64_t v) {
    if (depth_ == 1 && key_ == "version") version = v;
    if (inEntry() && key_ == "call_depth" && v <= kMostDepth) call_depth_ = static_cast<int>(v);
    return true;
  }
  bool number_float(double /*v*/, const std::string& /*text*/) { return true; }
  bool string(std::string& v) {
    if (!inEntry()) return true;
    if (key_ == "type") type_.swap(v);
    if (key_ == "op_name" || key_ == "kernel_name" || key_ == "tag") name_.swap(v);
    if (key_ == "header") header_.swap(v);
    if (key_ == "args_str") arguments_.swap(v);
    return true;
  }
  bool binary(nlohmann::json::binary_t& /*v*/) { return true; }
  bool start_object(std::size_t /*size*/) {
    ++depth_;
    if (inEntry()) clear();
    return true;
  }
  bool key(std::string& name) {
    key_.swap(name);
    return true;
  }
  bool end_object() {
    if (inEntry()) finish();
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*size*/) {
    ++depth_;
    in_logs_ = in_logs_ || (depth_ == 2 && key_ == "logs");
    return isReadable();
  }
  bool end_array() {
    in_logs_ = in_logs_ && depth_ != 2;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*why*/) {
    end.damage = "it is cut or no JSON at byte " + std::to_string(position);
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

  /// Reports whether the entries that begin here are of a version that is read.
  bool isReadable() const { return !in_logs_ || version == kDebugLogVersion; }

  std::optional<std::uint64_t> version;
  DebugLogEnd end;

 private:
  bool inEntry() const { return in_logs_ && depth_ == 3; }

  void clear() {
    for (std::string* text : {&type_, &name_, &header_, &arguments_}) text->clear();
    call_depth_ = -1;
  }

  void finish() {
    const bool is_named = !name_.empty() || type_ == "redistribute" || type_ == "output_placement";
    if (type_.empty() || call_depth_ < 0 || !is_named) {
      ++end.left_out;
      return;
    }
    ++end.entries;
    take_({type_, name_, header_, arguments_, call_depth_});
  }

  const std::function<void(const DebugEntry&)>& take_;
  int depth_ = 0, call_depth_ = -1;
  bool in_logs_ = false;
  std::string key_, type_, name_, header_, arguments_;
};

}  // namespace

DebugLogEnd readDebugLog(const std::string& path,
                         const std::function<void(const DebugEntry&)>& take) {
  std::ifstream file(path, std::ios::binary);  // can be larger than the memory
  if (!file) throw inputError(path + ": cannot be read");
  GzipReader gzip(file);
  std::istream inflated(&gzip);
  DebugLogHandler handler(take);
  nlohmann::json::sax_parse(file.peek() == kFirstByteOfGzip ? inflated : file, &handler);
  if (!handler.isReadable())
    throw inputError(
        path + ": is a log of DebugMode of " +
        (handler.version ? "version " + std::to_string(*handler.version) : "no stated version") +
        ", and this program reads version " + std::to_string(kDebugLogVersion) +
        ". Write it with a PyTorch whose DebugMode.save_logs writes that version");
  if (!gzip.damage().empty()) handler.end.damage = gzip.damage();
  return std::move(handler.end);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <streambuf>

#include "traces/exchange/export/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"

namespace ringscope::traces {
namespace {

constexpr ExportFormat kFormats[] = {
    {"perfetto", "pftrace",
     "Perfetto's protobuf: ranks as processes, hops as flows, memory as counters", writePerfetto},
    {"chrome", "json", "the same as Chrome's JSON trace events", writeChrome},
    {"csv", "csv", "the events, with the columns of the table events of ringscope query", writeCsv},
    {"safetensors", "safetensors", "the recorded tensors whose values were kept, under their keys",
     writeTensors},
};

/// A buffer that passes on what is written, and asks from time to time whether to continue.
class WatchedBuffer : public std::streambuf {
 public:
  WatchedBuffer(std::streambuf& to, const std::function<bool(std::uint64_t bytes)>& goes_on)
      : to_(to), goes_on_(goes_on) {}

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    const std::streamsize put = to_.sputn(bytes, count);
    wrote(put);
    return put;
  }
  int_type overflow(int_type byte) override {
    if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
    wrote(1);
    return to_.sputc(traits_type::to_char_type(byte));
  }
  int sync() override { return to_.pubsync(); }

 private:
  void wrote(std::streamsize count) {
    constexpr std::uint64_t kBetween = 1 << 16;  // bytes between two calls of goes_on
    written_ += static_cast<std::uint64_t>(count);
    if (!goes_on_ || written_ < ask_at_) return;
    ask_at_ = written_ + kBetween;
    if (!goes_on_(written_)) throw usageError("stopped: nothing was exported");
  }

  std::streambuf& to_;
  const std::function<bool(std::uint64_t bytes)>& goes_on_;
  std::uint64_t written_ = 0, ask_at_ = 0;
};

}  // namespace

std::span<const ExportFormat> exportFormats() {
  return kFormats;
}

Exported exportTrace(const std::string& recording, std::string_view format,
                     const std::string& output,
                     const std::function<bool(std::uint64_t bytes)>& goes_on) {
  const ExportFormat& to =
      entryNamed("format", format, kFormats, [](const ExportFormat& one) { return one.name; });
  checkOutputs({{"TRACE", recording}}, {{"--output", output}});
  const auto trace = openTrace(recording);
  OutputFile file(output);
  WatchedBuffer watched(*file.stream().rdbuf(), goes_on);
  std::ostream out(&watched);
  out.exceptions(std::ios::badbit);  // stop computing once a write fails
  Exported exported;
  try {
    exported = to.write(*trace, out);
  } catch (const std::ios_base::failure&) {
    file.stream().setstate(std::ios::badbit);  // finish() reports the reason
  }
  file.finish();
  for (const std::string& problem : trace->problems()) exported.left_out.push_back(problem);
  return exported;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/nccl_inspector/log.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

/// The latest time that a log may contain, in the year 2096, and the longest call.
constexpr std::int64_t kMostUs = 4'000'000'000'000'000, kLongestUs = std::int64_t{1} << 43;

const json& part(const json& object, const char* key) {
  static const json kNone;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

/// Returns a natural number up to `most`; −1 when there is none.
std::int64_t natural(const json& object, const char* key, std::int64_t most) {
  const json& value = part(object, key);
  if (!value.is_number_unsigned()) return -1;
  return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most) ? value.get<std::int64_t>()
                                                                        : -1;
}

std::string text(const json& object, const char* key) {
  const json& value = part(object, key);
  return value.is_string() ? toPlainText(value.get_ref<const std::string&>(), 64) : "";
}

/// Sets the times of a call from the trace of its events, where microseconds of the host's clock
/// are 0 when an event did not occur. Returns false when the log has no trace.
bool readTrace(Call& call, const json& perf) {
  const json& trace = part(perf, "event_trace_ts");
  const std::int64_t posted = natural(trace, "coll_start_ts", kMostUs);
  if (posted <= 0) return false;
  std::int64_t start = kMostUs, end = 0;
  const json& kernels = part(trace, "kernel_events");
  if (kernels.is_array())
    for (const json& kernel : kernels) {
      const std::int64_t from = natural(kernel, "kernel_start_ts", kMostUs),
                         to = natural(kernel, "kernel_stop_ts", kMostUs);
      if (from < posted || to < from) continue;
      start = std::min(start, from);
      end = std::max(end, to);
    }
  if (end == 0 || end - posted > kLongestUs) return false;
  call.posted_ns = posted * 1000;
  call.start_ns = start * 1000;
  call.end_ns = end * 1000;
  return true;
}

/// Returns the collective of a line; nullopt when the line is none.
std::optional<InspectedCall> callIn(const json& line, InspectorLog& log) {
  const json &header = part(line, "header"), &perf = part(line, "coll_perf");
  InspectedCall inspected;
  inspected.communicator = text(header, "id");
  const std::int64_t rank = natural(header, "rank", kMaxRanks - 1),
                     ranks = natural(header, "n_ranks", kMaxRanks);
  Call& call = inspected.call;
  const std::string spelling = text(perf, "coll");
  call.name = callName(spelling == "SendRecv" ? "" : spelling);
  const std::int64_t us = natural(perf, "coll_exec_time_us", kLongestUs),
                     dumped = natural(part(line, "metadata"), "dump_timestamp_us", kMostUs);
  if (inspected.communicator.empty() || rank < 0 || rank >= ranks || call.name.empty() ||
      call.name == "send" || call.name == "recv" || us < 0 || dumped < us)
    return std::nullopt;
  const auto known = log.sizes.try_emplace(inspected.communicator, ranks).first;
  if (known->second != ranks) return std::nullopt;
  inspected.place = static_cast<std::int32_t>(rank);
  call.sequence = natural(perf, "coll_sn", std::numeric_limits<std::int64_t>::max());
  call.bytes = natural(perf, "coll_msg_size_bytes", kMaxBytes / ranks);
  // NCCL counts what each rank receives of a reduce-scatter.
  if (call.name == "reduce_scatter" && call.bytes > 0) call.bytes *= ranks;
  call.completes = true;
  if (readTrace(call, perf)) {
    log.has_times = true;
  } else {
    call.end_ns = dumped * 1000;
    call.posted_ns = call.start_ns = (dumped - us) * 1000;
  }
  return inspected;
}

}  // namespace

InspectorLog readInspectorLog(const std::string& path) {
  InspectorLog log;
  log.path = path;
  FileContent content = readContent(path);
  log.damage = std::move(content.damage);
  std::string_view rest = content.bytes;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    constexpr std::size_t kMostLine = 1 << 20;  // about 100 bytes for each of 64 channels
    const json parsed = line.size() > kMostLine ? json() : json::parse(line, nullptr, false);
    if (auto call = callIn(parsed, log))
      log.calls.push_back(std::move(*call));
    else
      ++log.left_out;
  }
  return log;
}

}  // namespace ringscope::traces

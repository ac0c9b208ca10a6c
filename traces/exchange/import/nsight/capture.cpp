// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/nsight/capture.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "traces/exchange/import/nsight/tables.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

/// The latest start of a capture, in the year 2096, and its longest duration.
constexpr std::int64_t kMostStartNs = 4'000'000'000'000'000'000,
                       kLongestNs = 1'000'000'000'000'000'000;

/// Returns the process of a serialized process or thread id: all but the lowest 24 bits.
std::int64_t processOf(std::int64_t id) {
  return id & ~std::int64_t{0xFFFFFF};
}

/// Returns the operation of a kernel of NCCL, as in "ncclDevKernel_AllReduce_Sum_f32_RING_LL" or
/// "ncclKernel_AllGather_RING_LL"; empty for any other kernel.
std::string_view ncclOperation(std::string_view kernel) {
  constexpr std::string_view kEnd = "Kernel_";
  if (!kernel.starts_with("nccl")) return {};
  const std::size_t at = kernel.find(kEnd);
  return at == std::string_view::npos ? std::string_view() : kernel.substr(at + kEnd.size());
}

/// Returns the step that a range marks: "ProfilerStep#3", "step 3", "iteration_3"; −1 for none.
std::int32_t markedStep(std::string_view range) {
  for (const std::string_view word :
       {"ProfilerStep", "step", "Step", "iteration", "Iteration", "iter"}) {
    if (!range.starts_with(word) || range.size() < word.size() + 2) continue;
    if (std::string_view(" _#:=").find(range[word.size()]) == std::string_view::npos) continue;
    range.remove_prefix(word.size() + 1);
    std::int32_t step = -1;
    const auto [end, error] = std::from_chars(range.data(), range.data() + range.size(), step);
    return error == std::errc() && end == range.data() + range.size() ? step : -1;
  }
  return -1;
}

class CaptureReader {
 public:
  explicit CaptureReader(const std::string& path) : tables_(path) { capture_.path = path; }

  Capture read() {
    if (!tables_.has("StringIds"))
      throw inputError(capture_.path +
                       " is not a RingScope trace. It has no table StringIds, so it is no "
                       "export of Nsight Systems either: write it by `nsys export --type sqlite`");
    for (const char* table : {kKernels, kRuntime, kRanges, kStartOfCapture})
      if (!tables_.has(table)) capture_.missing.emplace_back(table);
    readNames();
    readStart();
    readKernels();
    readPostings();
    readSteps();
    return std::move(capture_);
  }

 private:
  using Pending = std::pair<std::int64_t, std::int64_t>;  ///< process and correlation

  void scan(const std::string& table, const std::vector<std::string>& columns,
            const std::function<void(const ForeignRow& row)>& take) {
    const std::string stopped = tables_.read(table, columns, take);
    if (!stopped.empty()) capture_.damage.push_back(table + " (" + stopped + ")");
  }

  /// Keeps the names that are used.
  void readNames() {
    scan("StringIds", {"id", "value"}, [&](const ForeignRow& row) {
      const std::string& name = row.texts[1];
      if (row.numbers[0] &&
          (!ncclOperation(name).empty() || isAttentionKernel(name) || markedStep(name) >= 0))
        names_.try_emplace(*row.numbers[0], name);
    });
  }

  void readStart() {
    scan(kStartOfCapture, {"utcEpochNs"}, [&](const ForeignRow& row) {
      const auto ns = row.numbers[0];
      if (ns && *ns >= 0 && *ns <= kMostStartNs) capture_.began_ns = *ns;
    });
  }

  void readKernels() {
    scan(kKernels,
         {"start", "end", "globalPid", "deviceId", "streamId", "correlationId", "demangledName",
          "shortName"},
         [&](const ForeignRow& row) { takeKernel(row); });
  }

  const std::string* nameIn(const ForeignRow& row) const {
    for (const std::size_t column : {7, 6})
      if (const auto id = row.numbers[column])
        if (const auto found = names_.find(*id); found != names_.end()) return &found->second;
    return nullptr;
  }

  void takeKernel(const ForeignRow& row) {
    const auto start = row.numbers[0], end = row.numbers[1];
    const std::string* name = nameIn(row);
    const std::int64_t id = processOf(row.numbers[2].value_or(0));
    const std::int64_t device = row.numbers[3].value_or(0);
    if (!name) return;
    if (!start || !end || *start < 0 || *end < *start || *end > kLongestNs) {
      ++capture_.left_out;
      return;
    }
    CapturedProcess& process = capture_.processes[id];
    if (process.device < 0) process.device = device;
    process.several_devices = process.several_devices || process.device != device;
    if (isAttentionKernel(*name))
      process.stages.push_back(stageOf(*name, *start, *end));
    else
      takeNccl(process, id, ncclOperation(*name), row);
  }

  void takeNccl(CapturedProcess& process, std::int64_t id, std::string_view operation,
                const ForeignRow& row) {
    if (operation.starts_with("SendRecv")) {
      ++capture_.messages;
      return;
    }
    Call call;
    call.name = callName(operation);
    if (call.name.empty()) {
      ++capture_.unnamed;
      return;
    }
    call.posted_ns = call.start_ns = *row.numbers[0];
    call.end_ns = *row.numbers[1];
    call.completes = true;
    call.clock = Clock::kDevice;
    call.thread = row.numbers[4].value_or(0);
    call.queue = static_cast<std::uint8_t>(std::clamp<std::int64_t>(call.thread, 1, 255));
    if (const auto correlation = row.numbers[5])
      pending_.try_emplace({id, *correlation}, process.calls.size());
    process.calls.push_back(std::move(call));
  }

  static Event stageOf(const std::string& name, std::int64_t start, std::int64_t end) {
    Event event;
    event.kind = EventKind::kAttend;
    const bool backward = namesBackward(name);
    event.place.direction = backward ? Direction::kBackward : Direction::kForward;
    event.pass = backward ? Pass::kBackward : Pass::kForward;
    event.begin_ns = event.start_ns = start;
    event.end_ns = end;
    event.clock = Clock::kDevice;
    event.queue = 1;
    return event;
  }

  /// Sets when the CPU launched each kernel.
  void readPostings() {
    scan(kRuntime, {"start", "globalTid", "correlationId"}, [&](const ForeignRow& row) {
      if (!row.numbers[0] || !row.numbers[1] || !row.numbers[2]) return;
      const auto found = pending_.find({processOf(*row.numbers[1]), *row.numbers[2]});
      if (found == pending_.end()) return;
      Call& call = capture_.processes.at(found->first.first).calls[found->second];
      if (*row.numbers[0] >= 0) call.posted_ns = std::min(call.start_ns, *row.numbers[0]);
    });
  }

  /// Sets the training steps from ranges of NVTX.
  void readSteps() {
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int32_t>>> steps;
    scan(kRanges, {"start", "globalTid", "text", "textId"}, [&](const ForeignRow& row) {
      if (!row.numbers[0] || !row.numbers[1]) return;
      std::int32_t step = markedStep(row.texts[2]);
      if (step < 0 && row.numbers[3])
        if (const auto name = names_.find(*row.numbers[3]); name != names_.end())
          step = markedStep(name->second);
      if (step >= 0) steps[processOf(*row.numbers[1])].emplace_back(*row.numbers[0], step);
    });
    for (auto& [id, marks] : steps) {
      const auto process = capture_.processes.find(id);
      if (process == capture_.processes.end()) continue;
      capture_.marks_steps = true;
      std::ranges::sort(marks);
      const auto step_at = [&marks = marks](std::int64_t ns) {
        const auto after = std::ranges::upper_bound(marks, std::pair(ns, INT32_MAX));
        return after == marks.begin() ? after->second : std::prev(after)->second;
      };
      for (Call& call : process->second.calls) call.train_step = step_at(call.posted_ns);
      for (Event& stage : process->second.stages) stage.place.train_step = step_at(stage.begin_ns);
    }
  }

  static constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
  static constexpr const char* kRuntime = "CUPTI_ACTIVITY_KIND_RUNTIME";
  static constexpr const char* kRanges = "NVTX_EVENTS";
  ForeignTables tables_;
  Capture capture_;
  std::map<std::int64_t, std::string> names_;
  std::map<Pending, std::size_t> pending_;  ///< calls, by the kernel's process and correlation
};

}  // namespace

Capture readCapture(const std::string& path) {
  return CaptureReader(path).read();
}

}  // namespace ringscope::traces

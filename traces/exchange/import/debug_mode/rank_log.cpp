// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/debug_mode/rank_log.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "traces/exchange/import/debug_mode/log.h"
#include "traces/exchange/import/debug_mode/operands.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// Reports whether an operator is one of torch.distributed's functional collectives, which name
/// their group.
bool isFunctional(std::string_view name) {
  return name.starts_with("_c10d_functional::") || name.starts_with("_c10d_functional_autograd::");
}

/// Returns the sum of the sizes of tensors; −1 when one of them is unknown.
std::int64_t sum(std::span<const std::int64_t> bytes) {
  std::int64_t total = 0;
  for (const std::int64_t tensor : bytes) {
    if (tensor < 0 || total > kMaxBytes - tensor) return -1;
    total += tensor;
  }
  return total;
}

/// Returns the bytes that a rank puts into a call of c10d, whose results come before its inputs.
std::int64_t contributedBytes(std::string_view name, std::span<const std::int64_t> tensors) {
  if (name == "gather" || name == "scatter" || tensors.empty()) return -1;
  if (name == "all_gather") return sum(tensors.last(1));
  if (name == "reduce_scatter") return sum(tensors.subspan(1));
  if (name == "all_to_all") return sum(tensors.subspan(tensors.size() / 2));
  return sum(tensors);
}

/// Returns the number of ranks that the tensors of an all-gather or a reduce-scatter of c10d tell;
/// 0 when they do not.
std::int32_t ranksByTensors(std::string_view name, std::span<const std::int64_t> tensors) {
  if ((name != "all_gather" && name != "reduce_scatter") || tensors.size() < 2) return 0;
  std::int64_t ranks = std::ssize(tensors) - 1;
  if (tensors.size() == 2) {
    const auto [part, whole] = std::minmax(tensors[0], tensors[1]);
    if (part <= 0 || whole % part != 0) return 0;
    ranks = whole / part;
  }
  return ranks <= kMaxRanks ? static_cast<std::int32_t>(ranks) : 0;
}

class RankLogReader {
 public:
  explicit RankLogReader(const std::string& path) { log_.path = path; }

  RankLog read() {
    const DebugLogEnd end = readDebugLog(log_.path, [this](const DebugEntry& entry) {
      take(entry);
      ++number_;
    });
    finishStage();
    log_.left_out = end.left_out;
    log_.damage = end.damage;
    return std::move(log_);
  }

 private:
  std::int64_t now() const { return number_ * kEntryNs; }

  void take(const DebugEntry& entry) {
    if (stage_depth_ && entry.depth <= *stage_depth_) finishStage();
    if (entry.type == "annotate") {
      if (entry.header == "record function") takeAnnotation(entry);
    } else if (entry.type == "op") {
      if (entry.name.starts_with("c10d::") || isFunctional(entry.name)) takeCall(entry);
      beginStage(entry, operatorStage(entry.name));
    }
  }

  void takeAnnotation(const DebugEntry& entry) {
    if (const auto step = profilerStep(entry.name)) {
      train_step_ = *step;
      log_.marks_steps = true;
    }
    beginStage(entry, operatorStage(entry.name));
  }

  void beginStage(const DebugEntry& entry, std::optional<EventKind> kind) {
    if (!kind || stage_depth_) return;
    stage_depth_ = entry.depth;
    Event event;
    event.kind = *kind;
    event.place.train_step = train_step_;
    const bool backward = namesBackward(entry.name);
    event.place.direction = backward ? Direction::kBackward : Direction::kForward;
    event.pass = backward ? Pass::kBackward : Pass::kForward;
    event.begin_ns = event.start_ns = now();
    log_.stages.push_back(event);
  }

  void finishStage() {
    if (!stage_depth_) return;
    log_.stages.back().end_ns = now();
    stage_depth_.reset();
  }

  void takeCall(const DebugEntry& entry) {
    Call call;
    call.name = callName(entry.name);
    if (call.name.empty()) return;
    if (call.name == "send") call.kind = EventKind::kSend;
    if (call.name == "recv") call.kind = EventKind::kReceive;
    call.posted_ns = call.start_ns = now();
    call.end_ns = now() + kEntryNs;
    call.train_step = train_step_;
    const Operands operands = readOperands(entry.arguments);
    if (isFunctional(entry.name))
      describeFunctional(call, operands);
    else
      describeCall(call, operands, entry.name.starts_with("c10d::recv_any_source"));
    log_.calls.push_back(std::move(call));
  }

  /// Reads the operands of a functional collective: inputs, perhaps the number of ranks, and the
  /// group's name.
  void describeFunctional(Call& call, const Operands& operands) {
    call.bytes = sum(operands.tensor_bytes);
    const std::string name = toPlainText(operands.values.back(), 256);
    if (operands.values.size() < 2 || name.empty()) return;
    auto& names = log_.group_names;
    if (names.size() >= kMaxGroups && !groups_.contains(name)) return;
    const auto [group, is_new] = groups_.try_emplace(name, static_cast<std::int32_t>(names.size()));
    if (is_new) names.push_back(name);
    call.group = group->second;
    if (call.name != "all_gather" && call.name != "reduce_scatter") return;
    const auto size = naturalOperand(operands, operands.values.size() - 2, kMaxRanks);
    if (size > 0) log_.group_sizes.try_emplace(name, static_cast<std::int32_t>(size));
  }

  /// Reads the operands of a call of c10d: tensors, and the peer and the tag of a message.
  void describeCall(Call& call, const Operands& operands, bool from_any) {
    call.bytes = contributedBytes(call.name, operands.tensor_bytes);
    if (call.kind != EventKind::kCollective) {
      constexpr std::size_t kPeer = 2, kTag = 3;
      if (from_any) return;
      call.peer_in_group =
          static_cast<std::int32_t>(naturalOperand(operands, kPeer, kMaxRanks - 1));
      call.tag = std::max<std::int64_t>(
          naturalOperand(operands, kTag, std::numeric_limits<std::int32_t>::max()), 0);
      return;
    }
    const std::int32_t ranks = ranksByTensors(call.name, operands.tensor_bytes);
    if (ranks > 0)
      log_.unnamed_size = log_.unnamed_size == 0 || log_.unnamed_size == ranks ? ranks : -1;
  }

  RankLog log_;
  std::map<std::string, std::int32_t> groups_;  ///< indices of group_names
  std::int64_t number_ = 0;
  std::int32_t train_step_ = 0;
  std::optional<int> stage_depth_;  ///< depth of the entry of the stage that is open
};

}  // namespace

RankLog readRankLog(const std::string& path) {
  return RankLogReader(path).read();
}

}  // namespace ringscope::traces

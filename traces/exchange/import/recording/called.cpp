// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/called.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// Returns the documents of a recorded mask; empty when they are not ascending runs.
std::vector<TokenRun> documentsOf(const Line& mask) {
  const nlohmann::json json = mask.json();
  std::vector<TokenRun> documents;
  const auto runs = json.find("documents");
  if (runs == json.end() || !runs->is_array()) return {};
  documents.reserve(runs->size());
  for (const auto& run : *runs) {
    const bool is_run = run.is_array() && run.size() == 2 && run[0].is_number_integer() &&
                        run[1].is_number_integer();
    if (!is_run) return {};
    const auto begin = run[0].get<std::int64_t>(), end = run[1].get<std::int64_t>();
    const std::int64_t before = documents.empty() ? 0 : documents.back().end;
    if (begin < before || end <= begin || end > kMaxTokens) return {};
    documents.push_back({begin, end});
  }
  return documents;
}

/// Returns the mask of a call. For flex_attention it is derived from the mask function, for other
/// calls from their arguments.
AttendedMask maskFor(const Line& line) {
  const Line mask =
      line.part("flex").has("mask") ? line.part("flex").part("mask") : line.part("mask");
  const std::int64_t window = mask.whole("window", 0);
  if (mask.text("kind") == name(MaskKind::kWindow) && window > 0)
    return {MaskKind::kWindow, std::min(window, std::int64_t{1} << 30), {}};
  if (mask.text("kind") == name(MaskKind::kDocuments))
    if (auto documents = documentsOf(mask); !documents.empty())
      return {MaskKind::kDocuments, 0, std::move(documents)};
  if (mask.text("kind") == name(MaskKind::kCausal)) return {MaskKind::kCausal, 0, {}};
  if (line.flag("masked") || (isOfJob(line) && !line.has("causal"))) return {};
  return {line.flag("causal") ? MaskKind::kCausal : MaskKind::kFull, 0, {}};
}

/// Returns the masks of operators within an annotated attention, by call, when they are neither
/// causal nor full. The annotation itself says only whether attention is causal.
std::unordered_map<std::int64_t, AttendedMask> masksWithin(const RankLines& rank) {
  std::unordered_map<std::int64_t, AttendedMask> masks;
  for (const Line& line : rank.lines) {
    if (line.kind() != "block" || (!line.has("flex") && !line.flag("masked"))) continue;
    const AttendedMask mask = maskFor(line);
    if (mask.kind == MaskKind::kCausal || mask.kind == MaskKind::kFull) continue;
    const auto [at, is_new] = masks.try_emplace(line.whole("call"), mask);
    if (!is_new && at->second != mask) at->second = {};
  }
  return masks;
}

}  // namespace

bool isRecognised(const Line& line) {
  return line.kind() == "attention" && line.text("operator") == "recognised";
}

bool isOfJob(const Line& attention) {
  return isRecognised(attention) ||
         (attention.kind() == "attention" && attention.text("operator") == "annotated");
}

void stateCausal(RankLines& rank) {
  for (Line& line : rank.lines) {
    if (!isRecognised(line) || line.flag("causal") || line.flag("masked")) continue;
    nlohmann::json stated = line.json();
    stated["causal"] = true;
    line = Line(stated);
  }
}

void leaveOutOwnBlocks(RankLines& rank) {
  std::set<std::string> blocks;
  for (const Line& line : rank.lines)
    if (const std::string block = line.text("own_block"); !block.empty()) blocks.insert(block);
  if (blocks.empty()) return;
  leaveOutWithTensors(rank, [&](const Line& line) {
    return line.kind() == "attention" && blocks.contains(line.text("forward_call"));
  });
}

Called calledWith(const RankLines& rank) {
  Called called;
  const auto within = masksWithin(rank);
  const auto is_forward = [](const Line& line) {
    return line.kind() == "attention" && line.text("direction") == "forward";
  };
  const bool has_ring = std::ranges::any_of(
      rank.lines, [&](const Line& line) { return is_forward(line) && line.has("ring"); });
  for (const Line& line : rank.lines) {
    // Attention of one rank alone, such as a reference, does not say how the sequence is shared.
    if (!is_forward(line) || (has_ring && !line.has("ring"))) continue;
    const auto found = within.find(line.whole("call"));
    const AttendedMask mask = found != within.end() ? found->second : maskFor(line);
    if (!called.any) called.mask = mask;
    if (called.mask != mask) called.mask = {};
    if (!called.first) called.first = line;
    called.recomputed = called.recomputed || line.text("pass") == "recompute";
    called.dropout = std::max(called.dropout, line.real("dropout").value_or(0));
    called.any = true;
    called.ring = called.ring || line.has("ring");
    called.by_job = called.by_job || isOfJob(line);
    called.recognised = called.recognised || isRecognised(line);
    called.own_mask = called.own_mask || line.flag("mask_of_all");
  }
  return called;
}

}  // namespace ringscope::traces

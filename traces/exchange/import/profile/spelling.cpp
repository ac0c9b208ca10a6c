// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/profile/spelling.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace ringscope::traces {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view callName(std::string_view name) {
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  std::string plain;
  for (const char c : name.substr(0, name.find(' ')))
    if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  // If one name begins with another, the longer name must come first.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNames = {{
      {"allreducebarrier", "barrier"},
      {"allreduce", "all_reduce"},
      {"allgather", "all_gather"},
      {"alltoall", "all_to_all"},
      {"reducescatter", "reduce_scatter"},
      {"reduce", "reduce"},
      {"broadcast", "broadcast"},
      {"barrier", "barrier"},
      {"gather", "gather"},
      {"scatter", "scatter"},
      {"send", "send"},
      {"recv", "recv"},
  }};
  const auto found = std::ranges::find_if(
      kNames, [&](const auto& known) { return plain.starts_with(known.first); });
  return found == kNames.end() ? "" : found->second;
}

bool isAttentionKernel(std::string_view name) {
  return contains(name, "flash_fwd") || contains(name, "flash_bwd") ||
         contains(name, "fmha_cutlass");
}

std::optional<EventKind> operatorStage(std::string_view name) {
  if (name.starts_with("Optimizer.step#")) return EventKind::kOptimizer;
  if (name.starts_with("aten::embedding")) return EventKind::kEmbed;
  if (name.starts_with("aten::cross_entropy_loss")) return EventKind::kLoss;
  if (name.starts_with("aten::") && contains(name, "attention")) return EventKind::kAttend;
  return std::nullopt;
}

std::optional<std::int32_t> profilerStep(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep#";
  std::int32_t step = -1;
  if (name.starts_with(kStep))
    std::from_chars(name.data() + kStep.size(), name.data() + name.size(), step);
  return step >= 0 ? std::optional(step) : std::nullopt;
}

bool namesBackward(std::string_view name) {
  return contains(name, "backward") || contains(name, "bwd") || contains(name, "fmha_cutlassB");
}

std::int64_t elementBytes(std::string_view type) {
  if (type.starts_with("c10::")) type.remove_prefix(5);
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 31> kSizes = {{
      {"Float", 4},
      {"float", 4},
      {"Double", 8},
      {"double", 8},
      {"BFloat16", 2},
      {"Half", 2},
      {"Int", 4},
      {"int", 4},
      {"Long", 8},
      {"long", 8},
      {"long int", 8},
      {"Short", 2},
      {"short", 2},
      {"short int", 2},
      {"Byte", 1},
      {"unsigned char", 1},
      {"Char", 1},
      {"signed char", 1},
      {"Bool", 1},
      {"bool", 1},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
      {"ComplexFloat", 8},
      {"complex<float>", 8},
      {"ComplexDouble", 16},
      {"complex<double>", 16},
      {"UInt16", 2},
      {"UInt32", 4},
      {"UInt64", 8},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", 1},
  }};
  const auto found =
      std::ranges::find_if(kSizes, [&](const auto& known) { return known.first == type; });
  return found == kSizes.end() ? 0 : found->second;
}

}  // namespace ringscope::traces

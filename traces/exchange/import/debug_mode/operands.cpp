// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/debug_mode/operands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// Returns the bytes per element of a type that torch.utils._dtype_abbrs abbreviates; 0 when the
/// type is unknown.
std::int64_t abbreviatedBytes(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 22> kSizes = {{
      {"f64", 8},    {"f32", 4},        {"f16", 2},        {"bf16", 2},      {"f8e4m3fn", 1},
      {"f8e5m2", 1}, {"f8e4m3fnuz", 1}, {"f8e5m2fnuz", 1}, {"f8e8m0fnu", 1}, {"c128", 16},
      {"c64", 8},    {"c32", 4},        {"i64", 8},        {"i32", 4},       {"i16", 2},
      {"i8", 1},     {"b8", 1},         {"u64", 8},        {"u32", 4},       {"u16", 2},
      {"u8", 1},     {"f4e2m1fnx2", 1},
  }};
  const auto found =
      std::ranges::find_if(kSizes, [&](const auto& known) { return known.first == type; });
  return found == kSizes.end() ? 0 : found->second;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::int64_t> natural(std::string_view digits) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    return std::nullopt;
  return number;
}

/// Returns the bytes of a tensor whose type and shape are "f32[8, 4"; −1 when they are unknown.
std::int64_t tensorBytes(std::string_view type, std::string_view extents) {
  std::int64_t bytes = abbreviatedBytes(type);
  if (bytes == 0) return -1;
  while (!extents.empty()) {
    const std::size_t comma = std::min(extents.find(','), extents.size());
    const auto extent = natural(extents.substr(0, comma));
    extents.remove_prefix(std::min(comma + 2, extents.size()));
    if (!extent || *extent > kMaxElements) return -1;
    if (bytes > 0 && *extent > kMaxBytes / bytes) return -1;
    bytes *= *extent;
  }
  return bytes;
}

/// Reports whether the text before the colon at `colon` names a tensor: "t", "dt" or "ft", perhaps
/// with a number as in "t$12".
bool namesTensor(std::string_view text, std::size_t colon) {
  std::string_view before = text.substr(0, colon);
  std::string_view unnumbered = before;
  while (!unnumbered.empty() && isDigit(unnumbered.back())) unnumbered.remove_suffix(1);
  if (unnumbered.ends_with('$')) before = unnumbered.substr(0, unnumbered.size() - 1);
  if (!before.ends_with('t')) return false;
  before.remove_suffix(1);
  if (before.ends_with('d') || before.ends_with('f')) before.remove_suffix(1);
  return before.empty() || std::string_view(" '([{=").find(before.back()) != std::string_view::npos;
}

std::vector<std::int64_t> readTensors(std::string_view text) {
  std::vector<std::int64_t> bytes;
  for (std::size_t at = text.find(": "); at != std::string_view::npos;
       at = text.find(": ", at + 1)) {
    const std::size_t open = text.find('[', at), close = text.find(']', at);
    if (close == std::string_view::npos) break;
    if (open > close || !namesTensor(text, at)) continue;
    const std::string_view type = text.substr(at + 2, open - at - 2);
    if (type.find_first_of(" ,") == std::string_view::npos)
      bytes.push_back(tensorBytes(type, text.substr(open + 1, close - open - 1)));
  }
  return bytes;
}

}  // namespace

Operands readOperands(std::string_view text) {
  Operands operands{{}, readTensors(text)};
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (std::string_view("([{<").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(")]}>").find(c) != std::string_view::npos) --depth;
    if (c != ',' || depth != 0) continue;
    operands.values.emplace_back(text.substr(begin, at - begin));
    begin = at + 1;
    while (begin < text.size() && text[begin] == ' ') ++begin;
  }
  operands.values.emplace_back(text.substr(std::min(begin, text.size())));
  return operands;
}

std::int64_t naturalOperand(const Operands& operands, std::size_t at, std::int64_t most) {
  if (at >= operands.values.size()) return -1;
  const auto number = natural(operands.values[at]);
  return number && *number <= most ? *number : -1;
}

}  // namespace ringscope::traces

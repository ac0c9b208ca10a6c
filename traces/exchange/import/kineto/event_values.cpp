// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/event_values.h"

#include <algorithm>
#include <charconv>

#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

constexpr std::size_t kMostKept = 4096;  // values, and bytes of a text

/// Returns the number of elements of a shape; −1 when it is no valid shape.
std::int64_t elements(const json& shape) {
  std::int64_t count = 1;
  for (const json& extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMaxElements) return -1;
    const auto size = extent.get<std::int64_t>();
    if (size > 0 && count > kMaxElements / size) return -1;
    count *= size;
  }
  return count;
}

/// Returns the bytes of tensors with these shapes and types; −1 when they are not known.
std::int64_t tensorBytes(const json& dims, const json& types) {
  if (!dims.is_array() || !types.is_array() || dims.size() != types.size() || dims.empty())
    return -1;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t size =
        types[i].is_string() ? elementBytes(types[i].get_ref<const std::string&>()) : 0;
    const std::int64_t count = dims[i].is_array() ? elements(dims[i]) : -1;
    if (size == 0 || count < 0 || bytes + count * size > kMaxBytes) return -1;
    bytes += count * size;
  }
  return bytes;
}

json parsed(const KinetoEvent& event, KinetoArgument argument) {
  return json::parse(event.json(argument), nullptr, false);
}

/// Returns a list of ranks that is written as text, "[0, 1, 2]"; empty when the text was shortened.
std::vector<WorldRank> ranksIn(const std::string& text) {
  return text.size() > 60'000 ? std::vector<WorldRank>()
                              : listedRanks(json::parse(text, nullptr, false));
}

}  // namespace

std::vector<WorldRank> listedRanks(const json& list) {
  std::vector<WorldRank> ranks;
  if (!list.is_array() || list.size() > kMaxRanks) return {};
  for (const json& rank : list) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= kMaxRanks) return {};
    ranks.push_back(WorldRank::of(rank.get<std::int64_t>()));
    if (std::ranges::count(ranks, ranks.back()) > 1) return {};
  }
  return ranks;
}

std::int64_t concreteInput(const KinetoEvent& event, std::size_t at) {
  const json inputs = parsed(event, KinetoArgument::kConcreteInputs);
  if (!inputs.is_array() || inputs.size() <= at || !inputs[at].is_string()) return -1;
  const auto& text = inputs[at].get_ref<const std::string&>();
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

template <typename Value, typename Make>
Value EventValues::keep(ByText<Value>& values, std::string_view text, const Make& make) {
  if (const auto found = values.find(text); found != values.end()) return found->second;
  const Value value = make();
  if (text.size() <= kMostKept && values.size() < kMostKept) values.emplace(text, value);
  return value;
}

std::int64_t EventValues::inputBytes(const KinetoEvent& event) {
  key_ = event.json(KinetoArgument::kInputDims);
  key_ += '\0';
  key_ += event.json(KinetoArgument::kInputTypes);
  return keep(bytes_, key_, [&] {
    return tensorBytes(parsed(event, KinetoArgument::kInputDims),
                       parsed(event, KinetoArgument::kInputTypes));
  });
}

std::int64_t EventValues::elementBytes(const KinetoEvent& event) {
  return keep(element_bytes_, event.json(KinetoArgument::kType),
              [&] { return traces::elementBytes(event.text(KinetoArgument::kType)); });
}

std::string_view EventValues::callName(std::string_view name) {
  return keep(call_names_, name, [&] { return traces::callName(name); });
}

std::size_t EventValues::groupIndex(const KinetoEvent& event) {
  key_ = event.json(KinetoArgument::kGroupName);
  key_ += '\0';
  key_ += event.json(KinetoArgument::kGroupRanks);
  return keep(group_indices_, key_, [&] {
    groups_.push_back(
        {event.text(KinetoArgument::kGroupName), ranksIn(event.text(KinetoArgument::kGroupRanks))});
    return groups_.size() - 1;
  });
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/exchange/import/kineto/kineto_event.h"
#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// Returns the ranks of a list; empty when the list has anything else, or a rank twice.
std::vector<WorldRank> listedRanks(const nlohmann::json& list);

/// Returns the integer at an index of an operator's recorded inputs, or −1.
std::int64_t concreteInput(const KinetoEvent& event, std::size_t at);

/// Values that are made from texts of events. The same few texts occur in most events of a file, so
/// values of texts are kept and made once.
class EventValues {
 public:
  /// Returns the bytes of the tensors that an operator was called with; −1 when shapes or types
  /// were not recorded.
  std::int64_t inputBytes(const KinetoEvent& event);
  /// Returns the bytes per element of a collective's type; 0 when the type is unknown.
  std::int64_t elementBytes(const KinetoEvent& event);
  /// Returns the canonical name of a call that a file names so; empty for anything else.
  std::string_view callName(std::string_view name);
  /// Returns the index into groups() of the process group of a collective.
  std::size_t groupIndex(const KinetoEvent& event);

  const std::vector<NamedGroup>& groups() const { return groups_; }

 private:
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
  };
  template <typename Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

  /// Returns the kept value of a text, or makes it.
  template <typename Value, typename Make>
  static Value keep(ByText<Value>& values, std::string_view text, const Make& make);

  ByText<std::int64_t> bytes_, element_bytes_;
  ByText<std::string_view> call_names_;
  ByText<std::size_t> group_indices_;
  std::vector<NamedGroup> groups_;
  std::string key_;
};

}  // namespace ringscope::traces

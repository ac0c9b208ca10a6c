// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// The arguments of an event that importers read.
enum class KinetoArgument : std::uint8_t {
  kCollectiveName,
  kElements,
  kType,
  kGroupName,
  kGroupRanks,
  kSourceRank,
  kDestinationRank,
  kSequence,
  kExternalId,
  kStream,
  kConcreteInputs,
  kInputDims,
  kInputTypes,
};
inline constexpr std::size_t kKinetoArguments = 13;

/// Returns the argument with a name in a Kineto file; nullopt when no importer reads it.
std::optional<KinetoArgument> kinetoArgument(std::string_view name);

/// Returns the nanoseconds of a time in microseconds with up to three decimals, as Kineto writes
/// it; nullopt for other text and for impossible times. A double would round times since 1970.
std::optional<std::int64_t> kinetoNanoseconds(std::string_view text);

/// The latest time that a file may contain, in the year 2096, and the longest event. Sums of a few
/// of them fit into 64 bits.
inline constexpr std::int64_t kMostKinetoNs = 4'000'000'000'000'000'000;
inline constexpr std::int64_t kLongestKinetoNs = std::int64_t{1} << 53;

/// One complete event ("ph": "X") of a Kineto file. Its texts are valid while the event is taken.
struct KinetoEvent {
  std::string_view name, category;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< since the file's base time
  std::int64_t thread = 0;
  std::array<std::string_view, kKinetoArguments> arguments;  ///< JSON of each; empty: none

  bool has(KinetoArgument argument) const { return !json(argument).empty(); }
  std::string_view json(KinetoArgument argument) const {
    return arguments[static_cast<std::size_t>(argument)];
  }
  /// Returns a numeric argument, which may be written as a number or as text.
  std::optional<std::int64_t> number(KinetoArgument argument) const;
  /// Returns an argument that is a text; empty for other arguments and for none.
  std::string text(KinetoArgument argument) const;
};

}  // namespace ringscope::traces

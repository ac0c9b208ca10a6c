// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/exchange/lines/json_fields.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {

/// One line of a rank's file (traces/recorder/FORMAT.md). The line is untrusted: a missing field
/// and a field of another type or out of range read as "none". If a field occurs twice, the last
/// one counts. A line keeps its text and the positions of its fields, and converts a field on
/// demand.
class Line {
 public:
  /// Makes a line from an object; anything else gives a line without fields.
  explicit Line(const nlohmann::json& json);
  /// Reads a line from a part of a shared text. Throws inputError, whose message begins with
  /// `source`, when the part is no JSON object.
  static Line read(std::shared_ptr<const std::string> whole, std::string_view text,
                   const std::string& source);
  /// Reads a line from a text of its own.
  static Line read(std::string_view text, const std::string& source);

  bool has(std::string_view key) const;
  /// Returns an integer from 0 to 2^53; `none` for everything else.
  std::int64_t whole(std::string_view key, std::int64_t none = -1) const;
  std::optional<double> real(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::string text(std::string_view key) const;
  /// Returns an object in this line; an empty line when there is none.
  Line part(std::string_view key) const;
  /// Returns the objects of a list.
  std::vector<Line> parts(std::string_view key) const;
  std::vector<std::int64_t> wholes(std::string_view key) const;
  /// Returns a list of pairs [[b, e], …]; empty when an item is no pair.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  /// Returns a rank of the job; none when there is none.
  WorldRank rank(std::string_view key) const;
  /// Returns a list of ranks, some of which may be none.
  std::vector<WorldRank> ranks(std::string_view key) const;
  /// Returns a number of 16 hexadecimal digits; nullopt for everything else.
  std::optional<std::uint64_t> hash(std::string_view key) const;
  /// Returns the whole line as a document.
  nlohmann::json json() const { return nlohmann::json::parse(text_); }

  /// Returns the field that names the kind of line.
  std::string_view kind() const { return kind_; }
  /// Returns the text of the line.
  std::string_view written() const { return text_; }
  /// Returns the training step, layer and ring step of the line, with the given direction.
  Place place(Direction direction) const;
  /// Returns the microbatch of the line; 0 when it names none.
  std::int32_t microbatch() const;

 private:
  Line(std::shared_ptr<const std::string> whole, std::string_view text,
       std::vector<JsonField> fields);
  std::optional<JsonValue> at(std::string_view key) const;

  std::shared_ptr<const std::string> whole_;  // the text that contains text_
  std::string_view text_, kind_;
  std::vector<JsonField> fields_;
};

}  // namespace ringscope::traces

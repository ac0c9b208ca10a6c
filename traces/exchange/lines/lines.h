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

/// One line of a rank's file (traces/recorder/FORMAT.md). It is a stranger's: what is missing, of
/// another type or out of range reads as "none". Of a field that is there twice the last counts. A
/// line keeps its text and where its fields are, and makes of a field what is asked for.
class Line {
 public:
  /// Of an object; of everything else a line without fields.
  explicit Line(const nlohmann::json& json);
  /// Of a part of a text that it shares. Throws inputError, which begins with `source`, where that
  /// is no JSON object.
  static Line read(std::shared_ptr<const std::string> whole, std::string_view text,
                   const std::string& source);
  /// Of a text by itself.
  static Line read(std::string_view text, const std::string& source);

  bool has(std::string_view key) const;
  /// A whole number from 0 to 2^53; `none` for everything else.
  std::int64_t whole(std::string_view key, std::int64_t none = -1) const;
  std::optional<double> real(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::string text(std::string_view key) const;
  /// An object in it; an empty line where there is none.
  Line part(std::string_view key) const;
  /// The objects of a list in it.
  std::vector<Line> parts(std::string_view key) const;
  std::vector<std::int64_t> wholes(std::string_view key) const;
  /// [[b, e], …]; empty where one of them is none.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  /// A rank of the job; none where there is none.
  WorldRank rank(std::string_view key) const;
  /// A list of them, in which some may be none.
  std::vector<WorldRank> ranks(std::string_view key) const;
  /// A number of 16 hexadecimal digits; nothing for everything else.
  std::optional<std::uint64_t> hash(std::string_view key) const;
  /// All of it as a document.
  nlohmann::json json() const { return nlohmann::json::parse(text_); }

  /// What kind of line it is, as it is written.
  std::string_view kind() const { return kind_; }
  /// As it is written.
  std::string_view written() const { return text_; }
  /// The training step, layer and ring step that it names; the direction is the caller's.
  Place place(Direction direction) const;

 private:
  Line(std::shared_ptr<const std::string> whole, std::string_view text,
       std::vector<JsonField> fields);
  std::optional<JsonValue> at(std::string_view key) const;

  std::shared_ptr<const std::string> whole_;  // of which text_ is a part
  std::string_view text_, kind_;
  std::vector<JsonField> fields_;
};

}  // namespace ringscope::traces

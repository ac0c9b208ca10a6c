// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringscope::traces {

/// A builder of a JSON document from a part of a file while a parser reads it, from the opening
/// brace to the closing one. Leaves out values beyond what an event or a head can hold.
class PartBuilder {
 public:
  struct All {};        ///< keep every field
  struct Arguments {};  ///< keep those of an event's arguments that the importer reads

  explicit PartBuilder(All /*all*/) : open_({&document_}) {}
  explicit PartBuilder(Arguments /*arguments*/) : only_arguments_(true), open_({&document_}) {}
  PartBuilder(const PartBuilder&) = delete;
  PartBuilder& operator=(const PartBuilder&) = delete;

  void key(const std::string& name);
  void value(nlohmann::json json);
  void open(bool is_list);
  /// Closes the innermost object or list. Returns true when that was the part itself.
  bool close();
  nlohmann::json take() { return std::move(document_); }

 private:
  nlohmann::json* add(nlohmann::json json);

  nlohmann::json document_ = nlohmann::json::object();
  bool only_arguments_ = false;
  std::vector<nlohmann::json*> open_;  ///< open objects and lists, innermost last; null: left out
  std::string key_;
  std::size_t kept_ = 0;
};

}  // namespace ringscope::traces

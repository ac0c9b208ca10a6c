// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringscope::traces {

/// Makes a document of a part of a file while a parser reads it, from the brace that opens it to
/// the one that closes it. What is more than an event or a head can hold is left out.
class PartBuilder {
 public:
  struct All {};        ///< every field is kept
  struct Arguments {};  ///< of an event's arguments, those that the importer reads

  explicit PartBuilder(All /*all*/) : open_({&document_}) {}
  explicit PartBuilder(Arguments /*arguments*/) : only_arguments_(true), open_({&document_}) {}
  PartBuilder(const PartBuilder&) = delete;
  PartBuilder& operator=(const PartBuilder&) = delete;

  void key(const std::string& name);
  void value(nlohmann::json json);
  void open(bool is_list);
  /// True where it closed the part itself.
  bool close();
  nlohmann::json take() { return std::move(document_); }

 private:
  nlohmann::json* add(nlohmann::json json);

  nlohmann::json document_ = nlohmann::json::object();
  bool only_arguments_ = false;
  std::vector<nlohmann::json*> open_;  ///< what is open, the innermost last; null: left out
  std::string key_;
  std::size_t kept_ = 0;
};

}  // namespace ringscope::traces

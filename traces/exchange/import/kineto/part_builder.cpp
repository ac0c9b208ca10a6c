// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/part_builder.h"

#include "traces/exchange/import/kineto/kineto_event.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostValues = 100'000;  // enough for the ranks of some hundred groups
constexpr std::size_t kMostText = 65'536;

}  // namespace

void PartBuilder::key(const std::string& name) {
  key_ = name;
}

void PartBuilder::value(nlohmann::json json) {
  add(std::move(json));
}

void PartBuilder::open(bool is_list) {
  open_.push_back(add(is_list ? nlohmann::json::array() : nlohmann::json::object()));
}

bool PartBuilder::close() {
  open_.pop_back();
  return open_.empty();
}

nlohmann::json* PartBuilder::add(nlohmann::json json) {
  nlohmann::json* in = open_.back();
  const bool too_long = json.is_string() && json.get_ref<const std::string&>().size() > kMostText;
  if (!in || too_long || ++kept_ > kMostValues) return nullptr;
  if (in->is_array()) {
    in->push_back(std::move(json));
    return &in->back();
  }
  if (only_arguments_ && open_.size() == 1 && !kinetoArgument(key_)) return nullptr;
  return &((*in)[key_] = std::move(json));
}

}  // namespace ringscope::traces

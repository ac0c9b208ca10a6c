// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// A pickle as a JSON value: dicts are objects, lists and tuples are arrays.
struct PickledValue {
  nlohmann::json value;
  std::string damage;  ///< why the file could not be read to its end; empty when it could
};

/// Reports whether a file that begins with these bytes is a pickle of protocol 2 to 5.
bool isPickle(std::span<const std::uint8_t> head);

/// Reads a pickle that consists of dicts, lists, tuples, texts, numbers, booleans and None alone,
/// as PyTorch's Flight Recorder writes it. Nothing is imported or called: an opcode that could do
/// so is rejected, as is every other opcode that such a dump does not contain. When the pickle
/// ends too early, the value contains what was complete before. Depth, number of values and size
/// of the result are limited. Throws inputError with a message that begins with `source`.
PickledValue parsePickle(std::string_view bytes, const std::string& source);

}  // namespace ringscope::traces

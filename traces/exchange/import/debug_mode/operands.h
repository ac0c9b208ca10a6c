// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// The operands of an operator as DebugMode prints them, for example
/// "['t: f32[4]'], ScriptObject <…>, 1, 0".
struct Operands {
  std::vector<std::string> values;         ///< operands, in order
  std::vector<std::int64_t> tensor_bytes;  ///< per tensor in all operands; −1: unknown type or
                                           ///< impossible shape
};

/// Reads a list of operands. Text that is no operand gives values without a meaning.
Operands readOperands(std::string_view text);

/// Returns an operand as a natural number up to `most`; −1 when there is none.
std::int64_t naturalOperand(const Operands& operands, std::size_t at, std::int64_t most);

}  // namespace ringscope::traces

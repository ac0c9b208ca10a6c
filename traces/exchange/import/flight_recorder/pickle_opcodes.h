// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// Returns the name of a pickle opcode that can import, call or fetch something; nullptr for all
/// other opcodes.
const char* nameOfActingOpcode(unsigned char opcode);

}  // namespace ringscope::traces

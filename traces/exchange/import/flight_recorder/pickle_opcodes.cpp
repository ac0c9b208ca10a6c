// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/flight_recorder/pickle_opcodes.h"

#include <algorithm>
#include <array>

namespace ringscope::traces {

const char* nameOfActingOpcode(unsigned char opcode) {
  struct Named {
    unsigned char opcode;
    const char* name;
  };
  static constexpr std::array<Named, 16> kActing = {{
      {'c', "GLOBAL"},
      {'i', "INST"},
      {'o', "OBJ"},
      {'R', "REDUCE"},
      {'b', "BUILD"},
      {'P', "PERSID"},
      {'Q', "BINPERSID"},
      {0x81, "NEWOBJ"},
      {0x92, "NEWOBJ_EX"},
      {0x93, "STACK_GLOBAL"},
      {0x82, "EXT1"},
      {0x83, "EXT2"},
      {0x84, "EXT4"},
      {0x96, "BYTEARRAY8"},
      {0x97, "NEXT_BUFFER"},
      {0x98, "READONLY_BUFFER"},
  }};
  const auto* const found = std::ranges::find(kActing, opcode, &Named::opcode);
  return found == kActing.end() ? nullptr : found->name;
}

}  // namespace ringscope::traces

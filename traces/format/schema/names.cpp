// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/names.h"

namespace ringscope::traces {

std::string unknownName(std::string_view what, std::string_view asked,
                        const std::vector<std::string>& known) {
  std::string list;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i > 0) list += i + 1 == known.size() ? " or " : ", ";
    list += known[i];
  }
  return "there is no " + std::string(what) + " '" + std::string(asked) + "'; use " + list;
}

}  // namespace ringscope::traces

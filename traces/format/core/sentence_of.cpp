// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/sentence_of.h"

#include <new>
#include <system_error>

namespace ringscope::traces {

std::string toSentence(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "there is not enough memory for this";
  if (const auto* system = dynamic_cast<const std::system_error*>(&error);
      system && system->code() == std::errc::resource_unavailable_try_again)
    return "no more threads can be started, as memory or their number is limited";
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace ringscope::traces

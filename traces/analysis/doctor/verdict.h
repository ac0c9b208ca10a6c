// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// A rule's answer in one word.
enum class Verdict { kFound, kClear, kNotObservable };
const char* name(Verdict verdict);

}  // namespace ringscope::traces

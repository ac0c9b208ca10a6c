// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// The version of DebugMode's logs that is read.
inline constexpr int kDebugLogVersion = 1;

/// One entry of a log. The texts are those of the reader until it reads the next entry.
struct DebugEntry {
  std::string_view type;       ///< "op", "redistribute", "output_placement", "triton_kernel" or
                               ///< "annotate"
  std::string_view name;       ///< operator, kernel, or tag of an annotation
  std::string_view header;     ///< kind of an annotation, as in "record function"
  std::string_view arguments;  ///< positional arguments of an operator
  int depth = 0;               ///< entries below an entry have a larger depth
};

/// The content of a log beside its entries.
struct DebugLogEnd {
  std::int64_t entries = 0;   ///< entries that were read
  std::int64_t left_out = 0;  ///< entries without a type, a name or a depth
  std::string damage;         ///< why the file could not be read to its end
};

/// Reads a log that PyTorch wrote by DebugMode.save_logs (torch/utils/_debug_mode). Passes its
/// entries to `take` in their order, without keeping them in memory. Throws inputError when the
/// file cannot be read, or is of a version that this program does not read.
DebugLogEnd readDebugLog(const std::string& path,
                         const std::function<void(const DebugEntry&)>& take);

}  // namespace ringscope::traces

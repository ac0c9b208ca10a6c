// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// The parts that are removed from a recording before it is shared.
struct Redaction {
  bool tokens = false;   ///< values of token ids, labels and logits
  bool weights = false;  ///< values of weights and of their gradients
  bool paths = false;    ///< paths of files and folders, wherever they occur
  bool hosts = false;    ///< time and machine of the run

  bool any() const { return tokens || weights || paths || hosts; }
  /// Parses a list of "tokens,weights,paths,hosts", or "all". Throws usageError.
  static Redaction parse(const std::string& list);
};

/// A redactor, which works chunk by chunk. A redacted tensor keeps its place, shape and statistics.
/// Its hash is mixed with a secret of this redaction: rules still see which tensors are equal, and
/// nobody can find the values by trying.
class Redactor {
 public:
  explicit Redactor(const Redaction& what);

  /// Registers the tensors of a chunk. It must see every chunk of tensors before any chunk of
  /// values is redacted. Values of an unknown tensor, for example one whose record is damaged, are
  /// left out.
  void look(const Chunk& tensors);
  /// Returns the chunk without the redacted parts; nullopt when nothing of it may be shared.
  std::optional<Chunk> apply(Chunk chunk);

 private:
  bool leavesOut(const TensorName& tensor) const;
  Chunk withoutValues(Chunk tensors) const;
  Chunk withoutPaths(Chunk run) const;
  Chunk redactedNotes(Chunk notes) const;
  Chunk recounted(Chunk end) const;

  Redaction what_;
  std::uint64_t secret_;
  std::set<TensorId> shared_;
  std::uint64_t left_out_rows_ = 0;
};

/// Returns the text with "(path left out)" in place of each absolute path.
std::string withoutPaths(const std::string& text);

}  // namespace ringscope::traces

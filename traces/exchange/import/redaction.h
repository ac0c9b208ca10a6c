// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// What is left out of a recording before it is shared.
struct Redaction {
  bool tokens = false;   ///< values of token ids, labels and logits
  bool weights = false;  ///< values of weights and of their gradients
  bool paths = false;    ///< of files and folders, wherever they are written
  bool hosts = false;    ///< when and on which machine it ran

  bool any() const { return tokens || weights || paths || hosts; }
  /// "tokens,weights,paths,hosts", any of them, or "all". Throws usageError.
  static Redaction parse(const std::string& list);
};

/// Applies it chunk by chunk. What is left out keeps its place, shape and statistics; its hash is
/// mixed with a secret of this redaction, so that rules still see what is equal to what and nobody
/// can try out what it was.
class Redactor {
 public:
  explicit Redactor(const Redaction& what);

  /// Must see every chunk of tensors before any values are asked about: values of a tensor that it
  /// did not see, as where its record is damaged, are left out.
  void look(const Chunk& tensors);
  /// The chunk as it may be shared; nothing where none of it may.
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

/// The text without absolute paths: "(path left out)" stands for each.
std::string withoutPaths(const std::string& text);

}  // namespace ringscope::traces

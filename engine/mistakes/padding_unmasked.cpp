// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/refused_where.h"

namespace ringscope::engine {

/// The mask knows documents with their padding, and not where their tokens end.
void injectPaddingUnmasked(Seams& seams) {
  seams.buffers.padding = [before = seams.buffers.padding](Padding& padding) {
    before(padding);
    padding.mask.documents = padding.slots;
  };
  refuseWhere(seams, [](const traces::RunSpec& run) -> std::optional<std::string> {
    if (run.command == traces::Command::kAttend) return {};
    return "padding_unmasked changes nothing in training, where padding are tokens without a "
           "label; use attend with --pad";
  });
}

}  // namespace ringscope::engine

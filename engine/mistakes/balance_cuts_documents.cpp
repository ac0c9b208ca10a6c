// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The documents that are packed into a sequence should be dealt one by one, and the balance takes
/// the sequence for one document: its chunks cut them wherever they lie.
void injectBalanceCutsDocuments(Seams& seams) {
  seams.buffers.layout = [before = seams.buffers.layout](std::int64_t length, int cp_size,
                                                         Balance balance,
                                                         const std::vector<TokenRun>& documents) {
    const bool deals = balance == Balance::kPerDocument;
    return before(length, cp_size, deals ? Balance::kHeadTail : balance, documents);
  };
}

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/refused_where.h"

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
  refuseWhere(seams, [](const traces::RunSpec& run) -> std::optional<std::string> {
    if (run.cp == 1)
      return "balance_cuts_documents changes nothing on one rank; use a --cp above 1";
    if (traces::chosenBalance(run) == Balance::kPerDocument) return {};
    return "balance_cuts_documents changes nothing where no documents are dealt; use --mask "
           "documents --balance per_document";
  });
}

}  // namespace ringscope::engine

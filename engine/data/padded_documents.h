// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"

namespace ringscope::engine {

// Batches whose documents can be dealt one by one (--balance per_document). The length of each part
// of a document within a sequence is a multiple of `unit` tokens, and `unit` divides the sequence's
// length.

/// Makes textBatches() whose documents are padded at their ends with token 0 and no label. Padding
/// belongs to its document, but its outputs are not trained on, and no other token attends it.
std::unique_ptr<BatchSource> paddedTextBatches(const std::vector<std::string>& files,
                                               const Tokenizer& tokenizer,
                                               const TextOptions& options, std::int64_t unit);

/// Makes tokenFileBatches() with documents. Throws inputError that names the first document whose
/// length is not a multiple of `unit`. A token file is not padded.
std::unique_ptr<BatchSource> wholeDocumentBatches(const std::string& path, std::int64_t unit);

}  // namespace ringscope::engine

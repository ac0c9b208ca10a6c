// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"

namespace ringscope::engine {

// Batches whose documents can be dealt one by one (Balance::kPerDocument): each part of a document
// that lies in a sequence is a multiple of `unit` tokens, which divides the sequence's length.

/// textBatches() with each document made longer at its end, by tokens 0 without a label. They
/// belong to it: what they attend is not trained on, and no other token attends them.
std::unique_ptr<BatchSource> paddedTextBatches(const std::vector<std::string>& files,
                                               const Tokenizer& tokenizer,
                                               const TextOptions& options, std::int64_t unit);

/// tokenFileBatches() with documents. Throws inputError that names the first document whose length
/// is no multiple; a file of tokens stays as it is.
std::unique_ptr<BatchSource> wholeDocumentBatches(const std::string& path, std::int64_t unit);

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ringscope::engine {

/// A function from text to tokens. It adds no tokens, such as a begin-of-sentence token.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::int64_t> encode(const std::string& text) const = 0;
  /// Returns the number of tokens; ids are 0 … size − 1.
  virtual std::int64_t size() const = 0;
};

/// Makes a tokenizer whose tokens are bytes.
std::unique_ptr<Tokenizer> byteTokenizer();
/// Opens a SentencePiece model (Kudo and Richardson 2018, arXiv:1808.06226), such as Llama 2's
/// tokenizer.model. Throws inputError if the file is not such a model.
std::unique_ptr<Tokenizer> sentencePieceTokenizer(const std::string& path);

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ringscope::engine {

/// Text to tokens. Adds no tokens of its own, such as one that begins a sentence.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::int64_t> encode(const std::string& text) const = 0;
  /// Tokens are 0 … size − 1.
  virtual std::int64_t size() const = 0;
};

/// Every byte is a token.
std::unique_ptr<Tokenizer> byteTokenizer();
/// A SentencePiece model (Kudo and Richardson 2018, arXiv:1808.06226), as Llama 2 has in
/// tokenizer.model. Throws inputError when the file is none.
std::unique_ptr<Tokenizer> sentencePieceTokenizer(const std::string& path);

}  // namespace ringscope::engine

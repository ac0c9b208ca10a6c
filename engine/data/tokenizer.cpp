// SPDX-License-Identifier: Apache-2.0
#include "engine/data/tokenizer.h"

#include <sentencepiece_processor.h>

#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::vector<std::int64_t> encode(const std::string& text) const override {
    std::vector<std::int64_t> tokens;
    tokens.reserve(text.size());
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::int64_t size() const override { return 256; }
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(const std::string& path) : path_(path) {
    if (const auto status = processor_.Load(path); !status.ok())
      throw inputError(path + " is not a SentencePiece model: " + status.ToString());
  }
  std::vector<std::int64_t> encode(const std::string& text) const override {
    std::vector<int> ids;
    if (const auto status = processor_.Encode(text, &ids); !status.ok())
      throw inputError(path_ + " cannot encode the text: " + status.ToString());
    return {ids.begin(), ids.end()};
  }
  std::int64_t size() const override { return processor_.GetPieceSize(); }

 private:
  std::string path_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> byteTokenizer() {
  return std::make_unique<ByteTokenizer>();
}
std::unique_ptr<Tokenizer> sentencePieceTokenizer(const std::string& path) {
  return std::make_unique<SentencePieceTokenizer>(path);
}

}  // namespace ringscope::engine

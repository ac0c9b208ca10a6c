// SPDX-License-Identifier: Apache-2.0
// Masks that nothing states, inferred from recorded attention.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/support/recorded_layer.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/format/schema/attention_facts.h"
#include "traces/format/schema/declared.h"

namespace ringscope::traces {
namespace {

using test::importedLayer;
using test::LayerSpec;
using test::RecordedLayer;

/// Checks attention that the recorder recognised and whose mask is taken to be causal.
LayerCheck checkRecognised(const std::shared_ptr<Trace>& trace,
                           const char* attention = "recognised") {
  trace->add(Note{kRecorderNote, std::string(R"({"attention":")") + attention + "\"}"});
  IntentRecord causal = trace->intents().front();
  causal.mask = MaskKind::kCausal;
  causal.window = 0;
  causal.documents.clear();
  trace->add(causal);
  std::vector<WorldRank> members;
  for (int rank = 0; rank < trace->worldSize(); ++rank) members.push_back(WorldRank::of(rank));
  return checkLayer(*trace, {0, Layer::of(0), 0}, members, 1e12);
}
LayerCheck checkRecognised(const RecordedLayer& layer, const char* attention = "recognised") {
  return checkRecognised(layer.record(), attention);
}

/// Makes the first `prefix` tokens attend all of each other.
void attendPrefix(RecordedLayer& layer, const LayerSpec& spec, std::int64_t prefix) {
  for (std::int64_t head = 0; head < spec.heads; ++head)
    for (std::int64_t query = 0; query < prefix; ++query) {
      const auto q = layer.row(TensorKind::kQ, 0, head, query);
      double sum = 0;
      std::vector<double> out(q.size(), 0);
      for (std::int64_t key = 0; key < prefix; ++key) {
        const auto k = layer.row(TensorKind::kK, 0, head, key),
                   v = layer.row(TensorKind::kV, 0, head, key);
        const double weight = std::exp(std::inner_product(q.begin(), q.end(), k.begin(), 0.0) /
                                       std::sqrt(static_cast<double>(q.size())));
        sum += weight;
        for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight * v[d];
      }
      const auto row = layer.row(TensorKind::kOut, 0, head, query);
      for (std::size_t d = 0; d < out.size(); ++d) row[d] = static_cast<float>(out[d] / sum);
      layer.row(TensorKind::kLse, 0, head, query)[0] = static_cast<float>(std::log(sum));
    }
}

TEST(VerifyFittedMaskTest, AWindowOfRecognisedAttentionIsInferred) {
  LayerSpec spec = importedLayer();
  spec.intent = "mask=window window=16";
  const LayerCheck layer = checkRecognised(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kOther);
  EXPECT_LE(layer.worstRatio(), 1);
  EXPECT_NE(layer.fits_words.find("a sliding window of 16 keys"), std::string::npos);
}

TEST(VerifyFittedMaskTest, GradientsDecideBetweenWindowsThatExplainTheOutput) {
  LayerSpec spec = importedLayer();
  spec.intent = "mask=window window=56";
  spec.dtype = DType::kBFloat16;
  spec.heads = spec.kv_heads = 1;
  spec.spread = 4;
  const LayerCheck layer = checkRecognised(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kOther);
  EXPECT_LE(layer.worstRatio(), 1);
  EXPECT_NE(layer.fits_words.find("sliding windows of"), std::string::npos) << layer.fits_words;
}

TEST(VerifyFittedMaskTest, AWindowOfDeclaredCausalAttentionIsWrong) {
  LayerSpec spec = importedLayer();
  spec.intent = "mask=window window=16";
  EXPECT_GT(checkRecognised(RecordedLayer(spec), "annotated").worstRatio(), 100);
}

TEST(VerifyFittedMaskTest, APrefixOfRecognisedAttentionIsNotJudged) {
  const LayerSpec spec = importedLayer();
  RecordedLayer recorded(spec);
  attendPrefix(recorded, spec, 21);
  const LayerCheck layer = checkRecognised(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kNothing);
  EXPECT_TRUE(layer.right());
  EXPECT_NE(layer.fits_words.find("first 21 tokens attend all of each other"), std::string::npos);
}

/// Tokens of two ranks that hold two documents.
struct DocumentsCase {
  std::string intent;             ///< mask, and window if any
  std::int64_t begin, stride;     ///< tokens of rank 1
  std::int64_t border;            ///< first token of the second document
  std::int64_t second_entry = 0;  ///< border of batch entry 1 in its position ids; 0: one entry
  DType dtype = DType::kFloat32;
};

/// Checks 12 tokens whose recorded positions start again at the border of the documents.
LayerCheck checkDocuments(const DocumentsCase& c) {
  LayerSpec spec{{"0-1,2-3,4-5,6-7,8-9,10-11", "1-2,3-4,5-6,7-8,9-10,11-12"}};
  if (c.stride == 1) spec.tokens = {"0-6", "6-12"};
  spec.run = "command=import";
  const std::string border = std::to_string(c.border);
  spec.intent = c.intent + " documents=0-" + border + "," + border + "-12";
  spec.batch = c.second_entry > 0 ? 2 : 1;
  spec.dtype = c.dtype;
  const auto trace = RecordedLayer(spec).record();
  for (const std::int64_t rank : {0, 1}) {
    std::vector<std::int64_t> positions;
    for (std::int64_t entry = 0; entry < spec.batch; ++entry)
      for (std::int64_t i = 0, token = rank * c.begin; i < 6; ++i, token += c.stride) {
        const std::int64_t begin = entry == 0 ? c.border : c.second_entry;
        positions.push_back(token < begin ? token : token - begin);
      }
    TensorRecord tensor;
    tensor.tensor.kind = TensorKind::kPositionIds;
    tensor.rank = WorldRank::of(rank);
    tensor.dtype = DType::kInt64;
    tensor.shape = {spec.batch, 6};
    Bytes bytes(positions.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), positions.data(), bytes.size());
    test::addTensor(*trace, tensor, std::move(bytes));
  }
  return checkRecognised(trace);
}

TEST(VerifyFittedMaskTest, PositionsShowDocumentsOfStripedTokens) {
  for (const char* intent : {"mask=documents", "mask=documents window=4"}) {
    const LayerCheck layer = checkDocuments({intent, 1, 2, 5});
    EXPECT_EQ(layer.fits, AttentionFits::kOther) << intent;
    EXPECT_LE(layer.worstRatio(), 1) << intent;
  }
}

TEST(VerifyFittedMaskTest, PositionsShowDocumentsThatBeginWithAShard) {
  const LayerCheck layer = checkDocuments({"mask=documents", 6, 1, 6});
  EXPECT_EQ(layer.fits, AttentionFits::kOther);
  EXPECT_LE(layer.worstRatio(), 1);
}

TEST(VerifyFittedMaskTest, OutputsOf16BitsDoNotShowTheDefaultScale) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const LayerCheck layer = checkDocuments({"mask=documents", 6, 1, 6, 0, dtype});
    EXPECT_TRUE(layer.within_documents);
    EXPECT_EQ(layer.vague_scores, dtype == DType::kBFloat16) << "and may be unlike other layers";
  }
}

TEST(VerifyFittedMaskTest, ShardsThatNumberTheirOwnTokensShowNoDocuments) {
  EXPECT_EQ(checkDocuments({"mask=causal", 6, 1, 6}).fits, AttentionFits::kStated);
  EXPECT_EQ(checkDocuments({"mask=causal", 6, 1, 5}).fits, AttentionFits::kDocuments);
}

TEST(VerifyFittedMaskTest, DocumentsOfOneBatchEntryDoNotJudgeTheOthers) {
  const LayerCheck layer = checkDocuments({"mask=documents", 6, 1, 9, 3});
  EXPECT_EQ(layer.fits, AttentionFits::kNothing);
  EXPECT_TRUE(layer.right());
}

TEST(VerifyFittedMaskTest, RecognisedAttentionMayAddIn16Bits) {
  LayerSpec spec = importedLayer();
  const auto widened = [&] { return checkRecognised(RecordedLayer(spec)).widened; };
  EXPECT_NE(widened().find("limits are 4 times"), std::string::npos) << widened();
  spec.dtype = DType::kBFloat16;
  EXPECT_NE(widened().find("limits are 24 times"), std::string::npos) << widened();
}

TEST(VerifyFittedMaskTest, AttentionOfOtherKeysIsNotJudgedWhereNothingStatesTheMask) {
  LayerSpec spec = importedLayer();
  spec.intent = "mask=documents documents=0-24,24-40,40-64";
  const LayerCheck layer = checkRecognised(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kNothing);
  EXPECT_TRUE(layer.tensors.empty());
  EXPECT_NE(layer.fits_words.find("the row of token 24 attends token 24"), std::string::npos)
      << layer.fits_words;
  EXPECT_GT(checkRecognised(RecordedLayer(spec), "annotated").worstRatio(), 1);
}

/// Returns a layer of four ranks that attend their own shards, as recorded.
std::shared_ptr<Trace> chunked(LayerSpec& spec, const char* documents) {
  spec.tokens = {"0-16", "16-32", "32-48", "48-64"};
  spec.intent = std::string("mask=documents documents=") + documents;
  return RecordedLayer(spec).record();
}

TEST(VerifyFittedMaskTest, AttentionWithinShardsMayBeMeantWhereNothingStatesTheMask) {
  LayerSpec spec = importedLayer();
  const LayerCheck layer = checkRecognised(chunked(spec, "0-16,16-32,32-48,48-64"));
  ASSERT_TRUE(layer.hypotheses.reproduced());
  EXPECT_EQ(layer.hypotheses.reproduced()->mistake, "ring_bypassed");
  EXPECT_TRUE(layer.keys_may_be_meant);
  EXPECT_FALSE(layer.isWrong());
  EXPECT_FALSE(layer.right());
  const auto declared = chunked(spec, "0-16,16-32,32-48,48-64");
  declared->add(Note{kDeclaredNote, R"({"mask":"causal"})"});
  EXPECT_TRUE(checkRecognised(declared).isWrong());
}

TEST(VerifyFittedMaskTest, ChunksOfOtherHeadsThatCrossShardsAreNoBypassedRing) {
  LayerSpec spec = importedLayer(), shifted = importedLayer();
  shifted.tokens = {"0-16", "16-32", "32-48", "48-64"};
  shifted.intent = "mask=documents documents=0-8,8-24,24-40,40-56,56-64";
  chunked(spec, "0-16,16-32,32-48,48-64");
  RecordedLayer own(spec), other(shifted);
  for (std::int64_t token = 0; token < 64; ++token)
    std::ranges::copy(other.row(TensorKind::kOut, 0, 1, token),
                      own.row(TensorKind::kOut, 0, 1, token).begin());
  const LayerCheck layer = checkRecognised(own);
  EXPECT_FALSE(layer.hypotheses.reproduced());
  EXPECT_FALSE(layer.isWrong());
}

TEST(VerifyFittedMaskTest, AnOutputThatIsAttentionOfAllKeysShowsAnUnstatedMask) {
  LayerSpec spec = importedLayer();
  const auto check = [&](const char* intent, bool spoilt) {
    spec.intent = intent;
    RecordedLayer layer(spec);
    if (spoilt) layer.row(TensorKind::kDq, 0, 1, 20)[0] += 1;
    const auto trace = layer.record();
    trace->add(Note{kRecorderNote, R"({"attention":"recognised"})"});
    std::vector<WorldRank> members;
    for (int rank = 0; rank < trace->worldSize(); ++rank) members.push_back(WorldRank::of(rank));
    return checkLayer(*trace, {0, Layer::of(0), 0}, members, 1e12);
  };
  const LayerCheck right = check("mask=full step=5", false);
  EXPECT_FALSE(right.tensors.empty());
  EXPECT_TRUE(right.right());
  EXPECT_TRUE(check("mask=full step=5", true).isWrong());
  EXPECT_TRUE(check("mask=causal step=5", false).mask.causal);
  EXPECT_TRUE(check("mask=documents documents=0-24,24-64 step=5", true).tensors.empty());
}

TEST(VerifyFittedMaskTest, RowsThatAttendOtherKeysThanTheirOwnAreWrong) {
  LayerSpec spec = importedLayer();
  RecordedLayer recorded(spec);
  for (std::int64_t head = 0; head < spec.heads; ++head)
    for (std::int64_t token = 32; token < 64; ++token) {
      const auto v = recorded.row(TensorKind::kV, 0, head, token - 32),
                 out = recorded.row(TensorKind::kOut, 0, head, token);
      std::ranges::copy(v, out.begin());
    }
  const LayerCheck layer = checkRecognised(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kStated) << layer.fits_words;
  EXPECT_GT(layer.worstRatio(), 1);
}

TEST(VerifyFittedMaskTest, ARowThatIsNoAttentionOfAnyKeysIsWrong) {
  LayerSpec spec = importedLayer();
  RecordedLayer recorded(spec);
  for (std::int64_t token = 30; token < 64; ++token)
    recorded.row(TensorKind::kOut, 0, 0, token)[0] += 0.5;
  const LayerCheck layer = checkRecognised(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kStated) << layer.fits_words;
  EXPECT_GT(layer.worstRatio(), 1);
}

TEST(VerifyFittedMaskTest, ASoftcapOfTheFirstRanksKeysAloneIsPlaced) {
  LayerSpec capped = importedLayer(), plain = importedLayer();
  capped.softcap = 1.5;
  capped.spread = plain.spread = 3;
  RecordedLayer own(capped), others(plain);
  for (std::int64_t head = 0; head < capped.heads; ++head)
    for (std::int64_t token = 16; token < 64; ++token) {
      const auto from = others.row(TensorKind::kOut, 0, head, token),
                 to = own.row(TensorKind::kOut, 0, head, token);
      for (std::size_t d = 0; d < to.size(); ++d) to[d] = 0.5 * to[d] + 0.5 * from[d];
    }
  const LayerCheck layer = checkRecognised(own);
  EXPECT_EQ(layer.fits, AttentionFits::kOther) << layer.fits_words;
  EXPECT_NE(layer.fits_words.find("agree with the softcap 1.5"), std::string::npos)
      << layer.fits_words;
  EXPECT_GT(layer.worstRatio(), 1);
}

}  // namespace
}  // namespace ringscope::traces

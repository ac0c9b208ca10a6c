// SPDX-License-Identifier: Apache-2.0
// Conversion of text to tokens and blocks, with and without borders of documents.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/data/padded_documents.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"
#include "tests/support/trace_sink.h"

namespace ringscope::engine {
namespace {

std::vector<std::int64_t> listOf(const at::Tensor& t) {
  const at::Tensor whole = t.contiguous();
  return {whole.const_data_ptr<std::int64_t>(),
          whole.const_data_ptr<std::int64_t>() + whole.numel()};
}

std::string written(const test::TempDir& dir, const std::string& name, const std::string& text) {
  std::ofstream(dir.file(name), std::ios::binary) << text;
  return dir.file(name);
}

TEST(TokenizerTest, SentencePieceGivesTheTokensOfItsOwnProgram) {
  std::ifstream in(test::reference("sentencepiece/sample.json"));
  const auto expected = nlohmann::json::parse(in);
  const auto tokenizer = sentencePieceTokenizer(test::reference("sentencepiece/sample.model"));
  EXPECT_EQ(tokenizer->encode(expected["text"]), expected["ids"].get<std::vector<std::int64_t>>());
  EXPECT_EQ(tokenizer->size(), 320);
}

TEST(TokenizerTest, AFileThatIsNoModelIsRefused) {
  EXPECT_ERROR(sentencePieceTokenizer(test::sampleText()), ErrorCode::kInput,
               "not a SentencePiece model");
  EXPECT_ERROR(sentencePieceTokenizer("nowhere"), ErrorCode::kInput, "not a SentencePiece model");
}

TEST(TextBatchesTest, EveryBlockIsDealtOnceAPassInASeededOrder) {
  test::TempDir dir;
  std::string text(8 * 10 + 1, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i);
  const auto file = written(dir, "t", text);
  const auto a = textBatches({file}, *byteTokenizer(), {8, 2, 7, false, ""}),
             b = textBatches({file}, *byteTokenizer(), {8, 2, 8, false, ""});
  std::set<std::int64_t> blocks;
  bool orders_differ = false;
  for (int step = 0; step < 5; ++step) {
    const Batch batch = a->batch(step);
    EXPECT_TRUE(at::equal(batch.labels, batch.input_ids + 1));
    EXPECT_TRUE(at::equal(batch.input_ids, a->batch(step).input_ids)) << "resumable";
    orders_differ = orders_differ || !at::equal(batch.input_ids, b->batch(step).input_ids);
    for (int row = 0; row < 2; ++row) blocks.insert(batch.input_ids[row][0].item<std::int64_t>());
  }
  EXPECT_EQ(blocks.size(), 10u);
  EXPECT_TRUE(orders_differ);
}

TEST(TextBatchesTest, DocumentsKeepTheirBordersAcrossFilesAndSeparators) {
  test::TempDir dir;
  const auto one = written(dir, "one", "abcde--fgh--"), two = written(dir, "two", "ijklmnopq");
  const auto batches = textBatches({one, two}, *byteTokenizer(), {16, 1, 0, true, "--"});
  const Batch batch = batches->batch(0);  // abcde fgh ijklmnop|q
  ASSERT_EQ(batch.cu_seqlens.size(), 1u);
  EXPECT_EQ(batch.cu_seqlens[0], (std::vector<std::int64_t>{0, 5, 8, 16}));
  EXPECT_EQ(listOf(batch.position_ids[0]),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7}));
  const auto labels = listOf(batch.labels[0]);
  EXPECT_EQ(labels[4], -100) << "the last token of a document has no next";
  EXPECT_EQ(labels[7], -100);
  EXPECT_EQ(labels[15], 'q') << "the document goes on in the next block";
  EXPECT_EQ(labels[5], 'g');
  const Mask mask = batch.maskFor(Mask::slidingWindow(3), 0);
  auto allows = [&](int query, int key) {
    return mask.allows(TokenIndex::of(query), TokenIndex::of(key));
  };
  EXPECT_TRUE(allows(7, 5));
  EXPECT_FALSE(allows(8, 7)) << "another document";
  EXPECT_FALSE(allows(4, 1)) << "outside the window";
}

TEST(TextBatchesTest, PaddedDocumentsDivideAndTheirPaddingHasNoLabel) {
  test::TempDir dir;
  const auto file = written(dir, "t", "abcde--fgh--ijklmnopq");
  const auto batches =
      paddedTextBatches({file}, *byteTokenizer(), {16, 1, 0, true, "--"}, 4);  // abcde000 fgh0 ijkl
  const Batch batch = batches->batch(0);
  EXPECT_EQ(batch.cu_seqlens[0], (std::vector<std::int64_t>{0, 8, 12, 16}));
  EXPECT_EQ(listOf(batch.input_ids[0]),
            (std::vector<std::int64_t>{'a', 'b', 'c', 'd', 'e', 0, 0, 0, 'f', 'g', 'h', 0, 'i', 'j',
                                       'k', 'l'}));
  EXPECT_EQ(listOf(batch.labels[0]),
            (std::vector<std::int64_t>{'b', 'c', 'd', 'e', -100, -100, -100, -100, 'g', 'h', -100,
                                       -100, 'j', 'k', 'l', 'm'}));
  EXPECT_EQ(listOf(batch.position_ids[0]),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(TextBatchesTest, RejectsTextThatFillsNoBlock) {
  test::TempDir dir;
  const auto file = written(dir, "t", "short");
  EXPECT_ERROR(textBatches({file}, *byteTokenizer(), {8, 1, 0, false, ""}), ErrorCode::kInput,
               "5 tokens; one block of 8 tokens needs 9");
  EXPECT_ERROR(textBatches({dir.file("none")}, *byteTokenizer(), {8, 1, 0, false, ""}),
               ErrorCode::kInput, "no such file");
}

/// Writes a token file of [1, 1, length] whose position ids restart at each document of
/// `cu_seqlens`.
void writeTokens(const std::string& path, const at::Tensor& ids,
                 const std::vector<std::int64_t>& cu_seqlens) {
  std::vector<at::Tensor> positions;
  for (std::size_t d = 0; d + 1 < cu_seqlens.size(); ++d)
    positions.push_back(at::arange(cu_seqlens[d + 1] - cu_seqlens[d], at::kLong));
  saveTensors(path, {{"input_ids", ids.view({1, 1, -1})},
                     {"labels", ids.roll(-1).view({1, 1, -1})},
                     {"position_ids", at::cat(positions).view({1, 1, -1})}});
}

TEST(TokenFileBatchesTest, RejectsImpossibleLabelsAndPositions) {
  test::TempDir dir;
  const std::string path = dir.file("tokens");
  const at::Tensor ids = at::arange(8, at::kLong).view({1, 1, 8});
  const auto with = [&](const at::Tensor& labels, const at::Tensor& positions) {
    saveTensors(path, {{"input_ids", ids}, {"labels", labels}, {"position_ids", positions}});
    return tokenFileBatches(path);
  };
  EXPECT_EQ(with(at::full_like(ids, -100), ids)->largestToken(), 7);
  EXPECT_ERROR(with(ids - 1, ids), ErrorCode::kInput, "or -100 to be ignored");
  EXPECT_ERROR(with(ids, ids - 1), ErrorCode::kInput, "negative positions");
  EXPECT_NE(with(ids, ids)->fingerprint(), with(ids + 1, ids)->fingerprint());
}

at::Tensor logitsOf(const std::string& tokens, int cp, const std::string& strategy = "ring") {
  TrainConfig config;
  config.tokens = tokens;
  config.mask = traces::MaskKind::kDocuments;
  config.cp = cp;
  config.steps = 1;
  config.strategy = traces::parse<traces::Strategy>(strategy);
  Gate gate(cp);
  return runTraining(config, gate, nullptr).logits[0];
}

TEST(DocumentTrainingTest, PackedDocumentsGiveTheLogitsThatEachHasByItself) {
  test::TempDir dir;
  const at::Tensor ids = at::randint(256, {64}, at::kLong);
  const std::vector<std::int64_t> cu_seqlens = {0, 23, 24, 64};
  writeTokens(dir.file("all"), ids, cu_seqlens);
  std::vector<at::Tensor> alone;
  for (std::size_t d = 0; d + 1 < cu_seqlens.size(); ++d) {
    const at::Tensor own = ids.slice(0, cu_seqlens[d], cu_seqlens[d + 1]);
    writeTokens(dir.file("one"), own, {0, own.numel()});
    alone.push_back(logitsOf(dir.file("one"), 1));
  }
  for (const char* strategy : {"ring", "all_gather", "ulysses"})
    EXPECT_LT(test::largestDifference(logitsOf(dir.file("all"), 2, strategy), at::cat(alone)), 1e-5)
        << strategy;
}

TEST(DocumentTrainingTest, EveryStepsOwnDocumentsStayWithinNoiseOnAMesh) {
  test::TempDir dir;
  TrainConfig config;
  config.text = {test::sampleText()};
  config.separator = '\n';
  config.mask = traces::MaskKind::kDocuments;
  config.seq_len = 96;
  config.dp = 2;
  config.batch = 2;
  config.cp = 2;
  config.steps = 3;
  config.verify = true;
  Gate gate(config.mesh().worldSize());
  const auto outcome = runTraining(config, gate, nullptr);
  ASSERT_FALSE(outcome.diffs.empty());
  for (const auto& diff : outcome.diffs)
    EXPECT_LE(diff.ratio, 1) << diff.tensor << " step " << diff.place.train_step;
}

/// Returns a training on paragraphs of the sample text, each dealt by itself.
TrainConfig perDocument(int cp, const char* strategy) {
  TrainConfig config;
  config.text.emplace_back(test::inSources("resources/sample/text.txt"));
  config.separator = "\n\n";
  config.mask = traces::MaskKind::kDocuments;
  config.balance = traces::Balance::kPerDocument;
  config.strategy = traces::parse<traces::Strategy>(strategy);
  config.cp = cp;
  config.seq_len = 128;
  config.steps = 2;
  config.verify = true;
  return config;
}

TEST(DocumentTrainingTest, DealtByDocumentsEveryStrategyStaysWithinNoise) {
  for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"})
    for (const int cp : {2, 4}) {
      TrainConfig config = perDocument(cp, strategy);
      config.dp = config.batch = cp == 2 ? 2 : 1;  // the sequences of two dp ranks differ
      Gate gate(config.mesh().worldSize());
      const auto outcome = runTraining(config, gate, nullptr);
      ASSERT_FALSE(outcome.diffs.empty());
      for (const auto& diff : outcome.diffs)
        EXPECT_LE(diff.ratio, 1) << strategy << " cp " << cp << " " << diff.tensor << " step "
                                 << diff.place.train_step;
    }
}

/// Trains four sequences on a mesh.
TrainOutcome fourSequences(int dp, int cp, traces::Balance balance) {
  TrainConfig config = perDocument(cp, "ring");
  config.dp = dp;
  config.batch = 4;
  config.balance = balance;
  Gate gate(config.mesh().worldSize());
  TrainOutcome outcome = runTraining(config, gate, nullptr);
  for (const auto& diff : outcome.diffs)
    EXPECT_LE(diff.ratio, 1) << "dp " << dp << " cp " << cp << " " << diff.tensor;
  return outcome;
}

TEST(DocumentTrainingTest, SeveralSequencesARankGiveWhatOneEachGives) {
  const TrainOutcome apart = fourSequences(4, 1, traces::Balance::kNone);
  EXPECT_EQ(apart.logits.size(0), 4);
  for (const auto& [dp, cp] : {std::pair{2, 2}, std::pair{1, 4}, std::pair{1, 1}}) {
    const TrainOutcome joined = fourSequences(dp, cp, traces::Balance::kNone);
    ASSERT_EQ(joined.logits.sizes(), apart.logits.sizes());
    EXPECT_LT(test::largestDifference(joined.logits, apart.logits), 1e-5) << dp << " " << cp;
    for (std::size_t step = 0; step < 2; ++step) {
      EXPECT_EQ(joined.steps[step].targets, apart.steps[step].targets);
      EXPECT_NEAR(joined.steps[step].loss, apart.steps[step].loss, 1e-5);
      EXPECT_NEAR(joined.steps[step].grad_norm, apart.steps[step].grad_norm, 1e-4);
    }
  }
  fourSequences(2, 2, traces::Balance::kPerDocument);
  fourSequences(1, 4, traces::Balance::kPerDocument);
}

TEST(DocumentTrainingTest, TheLogitsDoNotDependOnHowDocumentsAreDealt) {
  TrainConfig config = perDocument(4, "ring");
  Gate gate(4);
  const at::Tensor dealt = runTraining(config, gate, nullptr).logits;
  config.strategy = traces::Strategy::kAllGather;
  Gate other(4);
  EXPECT_LT(test::largestDifference(runTraining(config, other, nullptr).logits, dealt), 1e-5);
}

/// Each rank has the chunks r and 2·cp − 1 − r of each document that the step's own intent names.
TEST(DocumentTrainingTest, EveryStepRecordsTheShardsOfItsOwnDocuments) {
  const TrainConfig config = perDocument(4, "ring");
  auto trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<test::TraceSink>(trace));
  traces::Recorder recorder(config.cp, std::move(sinks));
  Gate gate(config.cp);
  runTraining(config, gate, &recorder);
  recorder.close();
  const auto batches = paddedTextBatches(config.text, *byteTokenizer(),
                                         {config.seq_len, 1, 0, true, config.separator}, 8);
  EXPECT_NE(batches->batch(0).cu_seqlens, batches->batch(1).cu_seqlens);
  ASSERT_EQ(trace->shards().size(), 3u * 4 * 2);
  for (const traces::ShardRecord& shard : trace->shards()) {
    const auto ends = batches->batch(shard.train_step).cu_seqlens[0];
    std::vector<traces::TokenRun> expected;
    for (std::size_t d = 0; d + 1 < ends.size(); ++d) {
      const std::int64_t chunk = (ends[d + 1] - ends[d]) / 8, rank = shard.rank.value();
      for (const std::int64_t c : {rank, 7 - rank})
        expected.push_back({ends[d] + c * chunk, ends[d] + (c + 1) * chunk});
    }
    EXPECT_EQ(shard.global_from_local, expected)
        << shard.buffer << " rank " << shard.rank.value() << " step " << shard.train_step;
  }
}

TEST(DocumentTrainingTest, ATokenFileWhoseDocumentsDoNotDivideIsRefused) {
  test::TempDir dir;
  writeTokens(dir.file("all"), at::randint(256, {64}, at::kLong), {0, 24, 64});
  TrainConfig config = perDocument(4, "ring");
  config.text.clear();
  config.tokens = dir.file("all");
  Gate gate(4);
  EXPECT_FALSE(runTraining(config, gate, nullptr).diffs.empty());
  writeTokens(dir.file("all"), at::randint(256, {64}, at::kLong), {0, 23, 64});
  Gate other(4);
  EXPECT_ERROR(runTraining(config, other, nullptr), ErrorCode::kInput,
               "a document of 23 tokens in step 0 does not divide into 8 chunks");
}

}  // namespace
}  // namespace ringscope::engine

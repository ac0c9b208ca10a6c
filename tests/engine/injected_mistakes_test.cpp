// SPDX-License-Identifier: Apache-2.0
// Each mistake changes the results that it should change, and nothing else.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "engine/attend/attend.h"
#include "engine/mistakes/registry.h"
#include "tests/engine/injected_harness.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::engine {
namespace {

/// The numbers of a run by name.
using Numbers = std::map<std::string, at::Tensor>;

/// Compares up to the rounding of fp32; NaN equals NaN.
bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, 1e-6, 1e-6, true);
}
std::string changedNumbers(const Numbers& correct, const Numbers& wrong) {
  std::string changed;
  for (const auto& [name, tensor] : correct)
    if (!same(tensor, wrong.at(name))) changed += (changed.empty() ? "" : " ") + name;
  return changed;
}

// -------- attend

struct AttendCase {
  std::string mistake;
  std::string changed;  ///< of out, lse, dq, dk, dv, in the order of their names
  void (*prepare)(AttendInput& input, AttendConfig& config) = [](AttendInput&, AttendConfig&) {};
};

AttendOutcome attendWith(const AttendCase& c, bool injected) {
  at::manual_seed(1);
  const auto tensor = [](std::int64_t heads) { return at::randn({1, heads, 64, 8}); };
  AttendInput input{tensor(4), tensor(2), tensor(2), tensor(4)};
  input.scale = 0.4;
  AttendConfig config;
  c.prepare(input, config);
  if (injected) inject(c.mistake, config.seams);
  Gate gate(config.cp);
  return attend(input, config, gate);
}

class AttendMistakeTest : public testing::TestWithParam<AttendCase> {};

TEST_P(AttendMistakeTest, ChangesItsNumbers) {
  const auto correct = attendWith(GetParam(), false), wrong = attendWith(GetParam(), true);
  EXPECT_EQ(changedNumbers(correct.tensors, wrong.tensors), GetParam().changed);
}

constexpr const char* kAll = "dk dq dv lse out";
constexpr const char* kAllAndSinks = "dk dq dsinks dv lse out";
constexpr const char* kGradients = "dk dq dv";

void useSinks(AttendInput& input, AttendConfig&) {
  input.sinks = at::tensor({-1.0, 0.5, 1.0, 2.0}, at::kFloat);
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, AttendMistakeTest,
    testing::Values(
        AttendCase{"unbalanced_unshard", kAll}, AttendCase{"naive_sum_merge", "dk dq out"},
        AttendCase{"lse_overflow", kAll, [](AttendInput& in, AttendConfig&) { in.scale = 40; }},
        AttendCase{"lse_low_precision", kAll}, AttendCase{"lse_base2", kAll},
        AttendCase{"neutral_element_wrong", kAll},
        AttendCase{"sinks_dropped", kAllAndSinks, useSinks},
        AttendCase{"sinks_on_every_block", kAllAndSinks, useSinks},
        AttendCase{"sinks_not_cut_by_heads", kAllAndSinks,
                   [](AttendInput& in, AttendConfig& config) {
                     useSinks(in, config);
                     config.cp = 2;
                     config.strategy = traces::Strategy::kUlysses;
                   }},
        AttendCase{"causal_on_every_block", kAll}, AttendCase{"no_skip_future_block", kAll},
        AttendCase{"mask_dropped", kAll,
                   [](AttendInput& in, AttendConfig&) { in.mask = Mask::slidingWindow(9); }},
        AttendCase{"documents_ignored", kAll,
                   [](AttendInput& in, AttendConfig&) {
                     in.mask = Mask::packed({0, 20, 64}, 64);
                   }},
        AttendCase{"local_delta_in_backward", kGradients},
        AttendCase{"gqa_group_broken", kAll,
                   [](AttendInput&, AttendConfig& config) {
                     config.cp = 2;
                     config.strategy = traces::Strategy::kUlysses;
                   }},
        AttendCase{"dropout_rng_reused", kGradients,
                   [](AttendInput&, AttendConfig& config) {
                     config.dropout = 0.3;
                     config.seed = 5;
                   }},
        AttendCase{"ring_bypassed", kAll}, AttendCase{"kv_not_rotated", kAll},
        AttendCase{"wrong_ring_direction", kAll}, AttendCase{"stale_kv_in_backward", kGradients},
        AttendCase{"dkv_not_returned", "dk dv"}, AttendCase{"non_contiguous_kv", kAll}),
    [](const auto& tested) { return tested.param.mistake; });

TEST(AttendMistakesTest, ABypassedRingSendsNothing) {
  const auto outcome = attendWith({"ring_bypassed", ""}, true);
  for (const HopTotals& hops : outcome.hops) {
    EXPECT_EQ(hops.kv_forward + hops.kv_backward + hops.dkv_backward, 0);
    EXPECT_EQ(hops.bytes_forward + hops.bytes_backward, 0);
  }
}

TEST(AttendMistakesTest, GradientsThatAreNotReturnedMissOneHop) {
  const auto correct = attendWith({"dkv_not_returned", ""}, false),
             wrong = attendWith({"dkv_not_returned", ""}, true);
  EXPECT_EQ(wrong.hops[0].dkv_backward, correct.hops[0].dkv_backward - 1);
}

TEST(AttendMistakesTest, ANanStaysOnItsRankInOneLayer) {
  const auto outcome = attendWith({"nan_from_one_rank:rank=1", ""}, true);
  EXPECT_GT(at::isnan(outcome.tensors.at("out")).sum().item<std::int64_t>(), 0);
  EXPECT_EQ(at::isnan(outcome.tensors.at("lse")).sum().item<std::int64_t>(), 0);
}

TEST(AttendMistakesTest, ABalanceWithoutACausalMaskIsRejectedUnlessInjected) {
  const auto full = [](AttendInput& in, AttendConfig& config) {
    in.mask = Mask::full();
    config.balance = traces::Balance::kHeadTail;
  };
  EXPECT_ERROR(attendWith({"balance_without_causal", "", full}, false), ErrorCode::kUsage,
               "evens out causal work");
  EXPECT_TRUE(attendWith({"balance_without_causal", "", full}, true).tensors.contains("out"));
}

// -------- train

struct TrainCase {
  std::string mistake;
  std::string changed;  ///< of gradients, logits, loss, norm, targets, in this order
  void (*prepare)(TrainConfig& config) = [](TrainConfig&) {};
};

TrainConfig trainConfig(const TrainCase& c) {
  TrainConfig config;
  config.text = {ringscope::test::sampleText()};
  config.cp = 2;
  config.steps = 1;
  config.seq_len = 64;
  c.prepare(config);
  return config;
}

Numbers numbersFrom(const TrainOutcome& outcome) {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, gradient] : outcome.gradients)
    gradients.push_back(gradient.reshape({-1}));
  const StepLog& step = outcome.steps.front();
  return {{"gradients", at::cat(gradients)},
          {"logits", outcome.logits},
          {"loss", at::tensor(step.loss, at::kDouble)},
          {"norm", at::tensor(step.grad_norm, at::kDouble)},
          {"targets", at::tensor(static_cast<double>(step.targets), at::kDouble)}};
}

class TrainMistakeTest : public testing::TestWithParam<TrainCase> {};

TEST_P(TrainMistakeTest, ChangesItsNumbers) {
  const TrainConfig config = trainConfig(GetParam());
  EXPECT_EQ(changedNumbers(numbersFrom(train(config, "")),
                           numbersFrom(train(config, GetParam().mistake))),
            GetParam().changed);
}

constexpr const char* kAllButTargets = "gradients logits loss norm";

/// Makes paragraphs of the sample text documents, so that ranks have unequal numbers of targets.
void keepDocuments(TrainConfig& config) {
  config.mask = traces::MaskKind::kDocuments;
  config.separator = "\n\n";
}

/// Takes a model whose scores have a scale and a softcap.
void useGemma2(TrainConfig& config) {
  config.model_dir = ringscope::test::reference("family/gemma2/model");
  config.tokens = ringscope::test::reference("family/gemma2/tokens.safetensors");
  config.text.clear();
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, TrainMistakeTest,
    testing::Values(TrainCase{"missing_position_ids", kAllButTargets},
                    TrainCase{"missing_rope_buffer", kAllButTargets},
                    TrainCase{"shift_labels_per_shard", "gradients loss norm targets"},
                    TrainCase{"labels_shifted_twice", "gradients loss norm targets"},
                    TrainCase{"unbalanced_unshard", kAllButTargets},
                    TrainCase{"balance_differs_between_buffers", kAllButTargets},
                    TrainCase{"different_batches_on_cp_ranks", kAllButTargets},
                    TrainCase{"same_batch_on_dp_ranks", kAllButTargets,
                              [](TrainConfig& config) {
                                config.cp = 1;
                                config.dp = config.batch = 2;
                              }},
                    TrainCase{"attention_scale_dropped", kAllButTargets, useGemma2},
                    TrainCase{"softcap_dropped", kAllButTargets, useGemma2},
                    TrainCase{"recompute_differs", "gradients norm",
                              [](TrainConfig& config) { config.recompute = true; }},
                    TrainCase{"mean_of_local_means", "gradients loss norm",
                              [](TrainConfig& config) {
                                keepDocuments(config);
                                config.seq_len = 512;
                              }},
                    TrainCase{"loss_scaled_by_cp", "gradients loss norm"},
                    TrainCase{"metric_not_reduced", "loss"},
                    TrainCase{"rank_without_targets", "gradients loss norm targets"},
                    TrainCase{"missing_cp_grad_reduce", "gradients norm"},
                    TrainCase{"grad_scaled_by_cp", "gradients norm"},
                    TrainCase{"clip_before_reduce", "gradients norm",
                              [](TrainConfig& config) { config.max_norm = 0.1; }},
                    TrainCase{"norm_counts_replicas", "norm"},
                    TrainCase{"embedding_detached", "gradients norm"}),
    [](const auto& tested) { return tested.param.mistake; });

TEST(TrainMistakesTest, LossAndGradientsAreOffByTheNumberOfRanks) {
  const TrainConfig config = trainConfig({});
  const StepLog correct = train(config, "").steps.front();
  const StepLog loss = train(config, "loss_scaled_by_cp").steps.front();
  EXPECT_DOUBLE_EQ(loss.loss, 2 * correct.loss);
  EXPECT_NEAR(loss.grad_norm / correct.grad_norm, 2, 1e-5);
  EXPECT_NEAR(train(config, "grad_scaled_by_cp").steps.front().grad_norm / correct.grad_norm, 2,
              1e-5);
  EXPECT_NEAR(train(config, "norm_counts_replicas").steps.front().grad_norm / correct.grad_norm,
              std::sqrt(2), 1e-5);
}

TEST(TrainMistakesTest, EachShardLosesATargetWhenLabelsAreShiftedInIt) {
  const TrainConfig config = trainConfig({});
  EXPECT_EQ(train(config, "").steps.front().targets, 64);
  EXPECT_EQ(train(config, "shift_labels_per_shard").steps.front().targets, 62);
}

TEST(TrainMistakesTest, NanReachesTheLossOfEveryRank) {
  const TrainConfig config = trainConfig({});
  EXPECT_TRUE(std::isnan(train(config, "nan_from_one_rank").steps.front().loss));
  EXPECT_TRUE(std::isnan(train(config, "rank_without_targets").steps.front().loss));
}

TEST(TrainMistakesTest, DetachedEmbeddingsHaveNoGradient) {
  const auto outcome = train(trainConfig({}), "embedding_detached");
  const at::Tensor& gradient = outcome.gradients.at("model.embed_tokens.weight");
  EXPECT_EQ(gradient.abs().max().item<double>(), 0);
}

/// The rotary embedding depends only on differences of positions, so no number of the run changes
/// much.
TEST(TrainMistakesTest, PositionsCountOnAcrossDocuments) {
  const auto tokenizer = byteTokenizer();
  const auto source = textBatches({ringscope::test::sampleText()}, *tokenizer,
                                  {.seq_len = 512, .keep_documents = true, .separator = "\n\n"});
  Seams seams;
  const at::Tensor correct = seams.data.batch({}, *source).position_ids;
  inject("positions_not_reset_per_document", seams);
  const at::Tensor wrong = seams.data.batch({}, *source).position_ids;
  EXPECT_LT(correct.max().item<std::int64_t>(), 511);
  EXPECT_TRUE(at::equal(wrong, at::arange(512).expand({1, 512})));
}

TEST(InjectedMistakesTest, SeveralAreMadeAtOneSeam) {
  Seams seams;
  inject("missing_position_ids", seams);
  inject("balance_differs_between_buffers", seams);
  inject("unbalanced_unshard", seams);
  auto cuts =
      bufferCuts(traces::chosenBuffers(traces::RunSpec()), ShardLayout(64, 2, Balance::kHeadTail));
  seams.buffers.cuts({.mesh = {1, 1, 2}}, cuts);
  ASSERT_EQ(cuts.size(), 2u);
  for (const BufferCut& cut : cuts) EXPECT_EQ(cut.layout.balance(), Balance::kNone) << cut.buffer;
}

TEST(InjectedMistakesTest, EachHasACase) {
  std::string text;
  for (const char* name :
       {"injected_mistakes_test.cpp", "injected_layouts_test.cpp", "injected_pairs_test.cpp"}) {
    std::ifstream file(test::inSources("tests/engine/") + name);
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  for (const InjectableMistake& mistake : injectableMistakes())
    EXPECT_NE(text.find('"' + mistake.id + '"'), std::string::npos) << mistake.id;
}

}  // namespace
}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
// Mistral, Qwen2, Qwen3, Gemma 2 and Llamas with scaled rotary frequencies from Hugging Face
// folders, compared with Transformers on one process.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/engine/llama_reference.h"
#include "tests/engine/mesh_training.h"
#include "tests/engine/sample_training.h"
#include "tests/support/expect_error.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/recompute/head_gradient.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/format/core/input_file.h"
#include "traces/format/schema/work.h"

namespace ringscope::engine {
namespace {

using test::MeshCase;

const std::vector<std::string> kFamily = {
    "mistral",       "qwen2",        "qwen3",        "llama_yarn", "llama_linear",
    "llama_dynamic", "qwen2_window", "qwen3_layers", "gemma2",     "gemma2_uncapped"};

/// Returns meshes for 4 query heads and 2 KV heads; at tp 4 each KV head is on two ranks.
std::vector<MeshCase> familyCases() {
  std::vector<MeshCase> cases;
  for (const std::string& model : kFamily)
    for (MeshCase c : std::vector<MeshCase>{{{1, 1, 1}, "ring", "none"},
                                            {{1, 1, 4}},
                                            {{1, 1, 4}, "ring", "striped"},
                                            {{1, 1, 4}, "all_gather"},
                                            {{1, 1, 4}, "ulysses"},
                                            {{1, 1, 4}, "hybrid", "head_tail", 2},
                                            {{1, 2, 1}, "ring", "none"},
                                            {{1, 2, 2}, "ulysses"},
                                            {{2, 2, 2}, "ring"},
                                            {{1, 4, 1}, "ring", "none"},
                                            {{1, 4, 2}, "all_gather"}}) {
      c.folder = "family/" + model;
      cases.push_back(c);
    }
  return cases;
}

class ModelFamily : public testing::TestWithParam<MeshCase> {};

TEST_P(ModelFamily, LossLogitsAndGradientsAreThoseOfTransformers) {
  const std::string& folder = GetParam().folder;
  const auto file = traces::SafeTensorsFile::read(test::reference(folder + "/ref.safetensors"));
  test::expectStepsOfTransformers(test::trained(GetParam().config()), folder, file);
}

INSTANTIATE_TEST_SUITE_P(Matrix, ModelFamily, testing::ValuesIn(familyCases()),
                         [](const auto& test) {
                           return test.param.folder.substr(7) + "_" + test.param.name();
                         });

/// Returns five meshes for each folder below RINGSCOPE_MODEL_FOLDERS; see scripts/model_folders.
std::vector<MeshCase> drawnCases() {
  std::vector<MeshCase> cases;
  const char* const drawn = std::getenv("RINGSCOPE_MODEL_FOLDERS");
  if (!drawn) return cases;
  for (const auto& folder : std::filesystem::directory_iterator(drawn))
    for (MeshCase c : std::vector<MeshCase>{{{1, 1, 4}},
                                            {{1, 1, 4}, "all_gather", "striped"},
                                            {{1, 1, 4}, "hybrid", "head_tail", 2},
                                            {{1, 2, 2}, "ulysses", "none"},
                                            {{2, 2, 2}, "ring"}}) {
      c.folder = std::filesystem::relative(folder.path(), test::reference("")).string();
      cases.push_back(c);
    }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Drawn, ModelFamily, testing::ValuesIn(drawnCases()), [](const auto& test) {
  return std::filesystem::path(test.param.folder).filename().string() + "_" + test.param.name();
});

TEST(ModelFamilyTest, EachIsWithinTheLimitsOfItsUnshardedStep) {
  for (const std::string& model : kFamily) {
    MeshCase c{{1, 2, 2}};
    c.folder = "family/" + model;
    TrainConfig config = c.config();
    config.verify = true;
    config.steps = 1;
    const auto diffs = test::trained(config).diffs;
    ASSERT_FALSE(diffs.empty());
    for (const auto& diff : diffs) EXPECT_FALSE(traces::diverges(diff)) << model << diff.tensor;
  }
}

TEST(ModelFamilyTest, RecomputationChangesNoNumber) {
  MeshCase c{{1, 1, 2}};
  c.folder = "family/qwen3";
  TrainConfig config = c.config();
  const auto plain = test::trained(config);
  config.recompute = true;
  const auto again = test::trained(config);
  for (const auto& [name, weight] : plain.weights)
    EXPECT_TRUE(at::equal(weight, again.weights.at(name))) << name;
}

TEST(ModelFamilyTest, AWindowOfTheRunTakesThePlaceOfTheModels) {
  MeshCase c{{1, 1, 2}};
  c.folder = "family/mistral";
  TrainConfig config = c.config();
  const double with_its_own = test::trained(config).steps[0].loss;
  config.mask = traces::MaskKind::kWindow;
  config.window = 12;
  EXPECT_EQ(test::trained(config).steps[0].loss, with_its_own);
  config.window = 32;
  EXPECT_NE(test::trained(config).steps[0].loss, with_its_own);
}

TEST(ModelFamilyTest, AConfigurationIsTheSameAfterItWasWritten) {
  for (const std::string& model : kFamily) {
    const auto config = LlamaConfig::load(test::reference("family/" + model + "/model"));
    const auto written = config.toJson("float32");
    const auto again = LlamaConfig::parse(written.dump(), model);
    const auto& rope = written["rope_parameters"];
    if (rope.contains("original_max_position_embeddings")) {  // transformers warns about 32.0
      EXPECT_TRUE(rope["original_max_position_embeddings"].is_number_integer());
    }
    EXPECT_EQ(again.family, config.family);
    EXPECT_EQ(again.head_dim, config.head_dim);
    EXPECT_EQ(again.attention_bias, config.attention_bias);
    EXPECT_EQ(again.output_bias, config.output_bias);
    EXPECT_EQ(again.head_norm, config.head_norm);
    EXPECT_EQ(again.sliding_window, config.sliding_window);
    EXPECT_EQ(again.layers_without_window, config.layers_without_window);
    EXPECT_EQ(again.tie_word_embeddings, config.tie_word_embeddings);
    EXPECT_EQ(again.toJson("float32"), written);
  }
}

std::string configText(const std::string& type, const std::string& more) {
  return R"({"model_type":")" + type +
         R"(","vocab_size":64,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,)"
         R"("num_attention_heads":4,"num_key_value_heads":2)" +
         more + "}";
}

TEST(ModelFamilyTest, RejectsAnUnknownModelWithTheSupportedOnes) {
  for (const char* type : {"mixtral", "gemma3_text", "gpt2", ""})
    EXPECT_ERROR(LlamaConfig::parse(configText(type, ""), "config"), ErrorCode::kInput,
                 "what can be read is llama, mistral, qwen2, qwen3 and gemma2");
  EXPECT_ERROR(LlamaConfig::parse(configText("llama", R"(,"partial_rotary_factor":0.5)"), "config"),
               ErrorCode::kInput, "partial_rotary_factor 0.5 is not supported");
  EXPECT_ERROR(
      LlamaConfig::parse(
          configText("mistral", R"(,"layer_types":["full_attention","full_attention"])"), "config"),
      ErrorCode::kInput, "full_attention in layer_types of a mistral model");
  EXPECT_ERROR(LlamaConfig::parse(configText("qwen3", R"(,"use_sliding_window":true,)"
                                                      R"("layer_types":["full_attention"])"),
                                  "config"),
               ErrorCode::kInput, "layer_types lists 1 layers of 2");
}

TEST(ModelFamilyTest, AGemma2HasTheDefaultsOfTransformers) {
  const auto config = LlamaConfig::parse(configText("gemma2", ""), "config");
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.scoreRule(), (traces::ScoreRule{1.0 / 16, 50}));
  EXPECT_EQ(config.final_logit_softcapping, 30);
  EXPECT_EQ(config.sliding_window, 4096);
  EXPECT_EQ(config.layers_without_window, std::vector<Layer>{Layer::of(1)});
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.pad_token_id, 0);
  EXPECT_FALSE(LlamaConfig::parse(configText("llama", ""), "config").pad_token_id);
  EXPECT_EQ(LlamaConfig::parse(configText("llama", R"(,"pad_token_id":-1)"), "config").pad_token_id,
            63);
  EXPECT_ERROR(LlamaConfig::parse(configText("llama", R"(,"pad_token_id":64)"), "config"),
               ErrorCode::kInput, "pad_token_id = 64 is no token of the vocabulary");
  EXPECT_ERROR(
      LlamaConfig::parse(configText("gemma2", R"(,"attn_logit_softcapping":-1)"), "config"),
      ErrorCode::kInput, "attn_logit_softcapping = -1");
  EXPECT_ERROR(LlamaConfig::parse(configText("gemma2", R"(,"hidden_activation":"silu")"), "config"),
               ErrorCode::kInput, "hidden_activation must be gelu_pytorch_tanh");
}

TEST(ModelFamilyTest, ARecordingKnowsTheSoftcaps) {
  test::TempDir dir;
  MeshCase c{{1, 2, 2}};
  c.folder = "family/gemma2";
  TrainConfig config = c.config();
  config.steps = 1;
  config.capture = "full";
  const auto trace = recorded(config, dir.file("right"));
  const auto diagnosis = traces::diagnose(*trace);
  EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
  const auto check = traces::checkTrace(*trace);
  ASSERT_FALSE(check.layers.empty());
  for (const auto& layer : check.layers) EXPECT_TRUE(layer.right()) << layer.pass.layer.value();
  const auto head = traces::readHeadGradient(*trace, 0);
  EXPECT_EQ(head.missing, "");
  EXPECT_TRUE(head.isRight()) << head.off;
}

TEST(ModelFamilyTest, ReadsTheLayersWithAWindowFromTheOldForm) {
  const auto config =
      LlamaConfig::parse(configText("qwen2", R"(,"use_sliding_window":true,"sliding_window":8,)"
                                             R"("max_window_layers":1)"),
                         "config");
  EXPECT_EQ(config.sliding_window, 8);
  EXPECT_EQ(config.layers_without_window, std::vector<Layer>{Layer::of(0)});
}

/// Records qwen3_layers, whose first layer has a window of 9 and whose second has none, on 4 cp
/// ranks.
std::shared_ptr<traces::Trace> recordedLayers(const std::string& strategy,
                                              const std::vector<std::string>& mistakes,
                                              const std::string& path) {
  MeshCase c{{1, 1, 4}, strategy};
  c.folder = "family/qwen3_layers";
  TrainConfig config = c.config();
  config.steps = 1;
  config.capture = "full";
  config.mistakes = mistakes;
  return recorded(config, path);
}

TEST(ModelFamilyTest, ARecordingKnowsTheMaskOfEachLayer) {
  for (const char* strategy : {"ring", "all_gather", "ulysses"}) {
    SCOPED_TRACE(strategy);
    test::TempDir dir;
    const auto trace = recordedLayers(strategy, {}, dir.file("right"));
    const WorldRank rank = WorldRank::of(0);
    EXPECT_EQ(trace->intent(0, rank, Layer::of(0))->window, 9);
    EXPECT_EQ(trace->intent(0, rank, Layer::of(1))->mask, traces::MaskKind::kCausal);
    const auto pairs = [&](int layer) {
      return traces::pairsPerHead(
          *trace->schedule(0, rank, traces::Direction::kForward, Layer::of(layer)));
    };
    EXPECT_LT(pairs(0), pairs(1));
    const auto diagnosis = traces::diagnose(*trace);
    EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
    const auto check = traces::checkTrace(*trace);
    EXPECT_FALSE(check.layers.empty());
    for (const auto& layer : check.layers) EXPECT_TRUE(layer.right()) << layer.pass.layer.value();
  }
}

TEST(ModelFamilyTest, ADroppedWindowIsNamedThoughAnotherLayerHasNone) {
  test::TempDir dir;
  const auto wrong = traces::diagnose(*recordedLayers("ring", {"mask_dropped"}, dir.file("wrong")));
  ASSERT_EQ(wrong.findings().size(), 1u) << traces::toText(wrong);
  EXPECT_EQ(wrong.findings().front().rule, "mask_dropped");
  EXPECT_EQ(wrong.findings().front().place.layer, Layer::of(0));
}

TEST(ModelFamilyTest, NamesThePartsOfAnUnsupportedModel) {
  const std::map<std::string, std::string> reasons = {
      {"mixtral", "'mixtral' has a mixture of experts (num_local_experts = 8), which"},
      {"qwen3_moe", "'qwen3_moe' has a mixture of experts (num_local_experts = 128), which"},
      {"deepseek_v3",
       "has a mixture of experts (n_routed_experts = 256) and latent attention "
       "(kv_lora_rank = 512), which"},
      {"gpt_oss", "'gpt_oss' has a mixture of experts (num_local_experts = 128), which"},
      {"mamba", "'mamba' has recurrent layers (state_size = 16), which"},
      {"recurrent_gemma", "'recurrent_gemma' has recurrent layers (lru_width = 32)"},
      {"qwen3_next",
       "recurrent layers (linear_num_key_heads = 16) and layers of the type "
       "\"linear_attention\", which"}};
  for (const auto& [name, reason] : reasons) {
    const std::string path = test::reference("family/unsupported/" + name + ".json");
    EXPECT_ERROR(LlamaConfig::parse(traces::readFile(path, traces::kMaxJsonBytes), name),
                 ErrorCode::kInput, reason);
  }
}

/// The length of documents differs between batches, and so would the frequencies.
TEST(ModelFamilyTest, RefusesDynamicScalingOfDocuments) {
  MeshCase c{{1, 1, 2}};
  c.folder = "family/llama_dynamic";
  TrainConfig config = c.config();
  config.mask = traces::MaskKind::kDocuments;
  EXPECT_ERROR(test::trained(config), ErrorCode::kUsage, "which --mask documents leaves open");
}

TEST(ModelFamilyTest, ReadsAWindowFromAllThreeKindsOfConfiguration) {
  const auto window = [](const char* type, const char* more) {
    return LlamaConfig::parse(configText(type, more), "config").sliding_window;
  };
  EXPECT_EQ(window("mistral", ""), 4096) << "as transformers has it where config.json is silent";
  EXPECT_EQ(window("mistral", R"(,"sliding_window":null)"), 0);
  EXPECT_EQ(window("qwen2", R"(,"sliding_window":8)"), 0) << "use_sliding_window is false";
  EXPECT_EQ(window("qwen2", R"(,"use_sliding_window":true,"sliding_window":8)"), 0)
      << "layers from 28 on";
  EXPECT_EQ(window("qwen3", R"(,"use_sliding_window":true,"sliding_window":8,)"
                            R"("layer_types":["sliding_attention","sliding_attention"])"),
            8);
  EXPECT_EQ(window("llama", R"(,"sliding_window":8)"), 0);
}

}  // namespace
}  // namespace ringscope::engine

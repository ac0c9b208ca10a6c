// SPDX-License-Identifier: Apache-2.0
// Reading and writing Hugging Face folders, rotary scaling, biases, and buffers under context
// parallelism.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "engine/data/sharded_buffers.h"
#include "engine/model/llama_config.h"
#include "engine/model/llama_weights.h"
#include "engine/model/rotary.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::engine {
namespace {

std::string configText(const std::string& more) {
  return R"({"model_type":"llama","vocab_size":256,"hidden_size":32,"intermediate_size":64,)"
         R"("num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,)"
         R"("initializer_range":0.1,"rms_norm_eps":1e-6)" +
         more + "}";
}

TEST(LlamaConfigTest, RotaryScalingIsReadInBothSpellingsAndOthersAreRefused) {
  const std::string scaling =
      R"("factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":512)";
  for (const std::string& more :
       {R"(,"rope_theta":500000,"rope_scaling":{"rope_type":"llama3",)" + scaling + "}",
        R"(,"rope_parameters":{"rope_theta":500000,"rope_type":"llama3",)" + scaling + "}"}) {
    const auto config = LlamaConfig::parse(configText(more), "config");
    EXPECT_EQ(config.rope_theta, 500000);
    ASSERT_TRUE(config.rope_scaling);
    EXPECT_EQ(config.rope_scaling->factor, 8);
    const auto again = LlamaConfig::parse(config.toJson("float32").dump(), "written");
    EXPECT_EQ(again.rope_scaling->original_max_position_embeddings, 512);
  }
  EXPECT_ERROR(LlamaConfig::parse(
                   configText(R"(,"rope_scaling":{"rope_type":"longrope","factor":2})"), "config"),
               ErrorCode::kInput, "rope_type longrope is not supported");
  EXPECT_ERROR(LlamaConfig::parse(
                   configText(R"(,"rope_scaling":{"rope_type":"dynamic","factor":2})"), "config"),
               ErrorCode::kInput, "lacks a positive max_position_embeddings");
  EXPECT_ERROR(LlamaConfig::parse(
                   configText(R"(,"rope_scaling":{"rope_type":"llama3","factor":8})"), "config"),
               ErrorCode::kInput, "lacks a positive low_freq_factor");
}

TEST(RotaryTest, LinearScalingStretchesAllWavelengths) {
  LlamaConfig plain, scaled;
  scaled.rope_scaling = RopeScaling{RopeKind::kLinear, 4};
  const at::Tensor positions = at::arange(64).unsqueeze(0);
  EXPECT_TRUE(at::allclose(Rotary::angles(positions, scaled, at::kDouble) * 4,
                           Rotary::angles(positions, plain, at::kDouble)));
}

/// The base of _compute_dynamic_ntk_parameters of transformers 5.
TEST(RotaryTest, DynamicScalingRaisesTheBaseForLongSequencesOnly) {
  LlamaConfig config;
  config.head_dim = 16;
  config.rope_scaling = RopeScaling{RopeKind::kDynamic, 4};
  config.rope_scaling->max_position_embeddings = 16;
  for (const std::int64_t length : {8, 16}) {
    config.rope_scaling->sequence_length = length;
    EXPECT_EQ(Rotary::base(config), config.rope_theta) << length;
  }
  config.rope_scaling->sequence_length = 32;
  EXPECT_NEAR(Rotary::base(config), 10000 * std::pow(5.0, 16.0 / 14), 1e-6);
}

/// Computed by _compute_yarn_parameters of transformers 5 for head_dim 16, theta 10,000, factor 4
/// and 32 original positions.
TEST(RotaryTest, YarnScalingEqualsThatOfTransformers) {
  LlamaConfig config = LlamaConfig::parse(
      configText(R"(,"head_dim":16,"rope_parameters":{"rope_type":"yarn","rope_theta":10000.0,)"
                 R"("factor":4.0,"original_max_position_embeddings":32})"),
      "config");
  const at::Tensor angles = Rotary::angles(at::ones({1, 1}, at::kLong), config, at::kDouble);
  const std::vector<double> expected = {1,      0.19764236,    0.025,   0.0079056947,
                                        0.0025, 0.00079056947, 0.00025, 7.9056947e-05};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(angles[0][0][0][static_cast<std::int64_t>(i)].item<double>(), expected[i],
                1e-6 * expected[i]);
  EXPECT_NEAR(config.rope_scaling->attention_factor, 1.138629436111989, 1e-12);
  const Rotary rotary = Rotary::of(at::zeros({1, 1}, at::kLong), config, at::kDouble);
  EXPECT_NEAR(rotary.cos.max().item<double>(), config.rope_scaling->attention_factor, 1e-12);
}

/// The rule per frequency, as _compute_llama3_parameters of transformers defines it.
TEST(RotaryTest, Llama3ScalingStretchesLongWavelengthsOnly) {
  LlamaConfig config;
  config.head_dim = 64;
  config.rope_theta = 500000;
  config.rope_scaling = RopeScaling{RopeKind::kLlama3, 8, 512, 1, 4};
  const at::Tensor one = at::ones({1, 1}, at::kLong);
  const at::Tensor cosine = Rotary::of(one, config, at::kDouble).cos[0][0][0];
  int stretched = 0, kept = 0, blended = 0;
  for (int i = 0; i < 32; ++i) {
    const double inverse = std::pow(500000.0, -2.0 * i / 64), length = 2 * M_PI / inverse;
    double expected = inverse;
    if (length > 512.0 / 1) {
      expected = inverse / 8;
      ++stretched;
    } else if (length >= 512.0 / 4) {
      const double smooth = (512 / length - 1) / (4 - 1);
      expected = (1 - smooth) * inverse / 8 + smooth * inverse;
      ++blended;
    } else {
      ++kept;
    }
    EXPECT_NEAR(cosine[i].item<double>(), std::cos(expected), 1e-12) << i;
  }
  EXPECT_GT(stretched, 3);
  EXPECT_GT(kept, 3);
  EXPECT_GT(blended, 0);
}

/// Writes a random model with biases into a folder, with its weights in one file or in two with an
/// index.
void writeModel(const std::string& folder, bool in_two_files) {
  std::filesystem::create_directories(folder);
  const std::string text = configText(R"(,"attention_bias":true)");
  std::ofstream(folder + "/config.json") << text;
  const auto config = LlamaConfig::parse(text, "config");
  const auto weights = LlamaWeights::random(config, 3, at::kFloat);
  at::manual_seed(1);
  std::map<std::string, at::Tensor> files[2];
  nlohmann::json index;
  int count = 0;
  for (const std::string& name : weights.names()) {
    const int file = in_two_files ? count++ % 2 : 0;
    files[file][name] =
        name.ends_with(".bias") ? at::randn_like(weights[name]) * 0.1 : weights[name];
    index["weight_map"][name] = "part" + std::to_string(file) + ".safetensors";
  }
  if (!in_two_files) return saveTensors(folder + "/model.safetensors", files[0]);
  for (int file = 0; file < 2; ++file)
    saveTensors(folder + "/part" + std::to_string(file) + ".safetensors", files[file]);
  std::ofstream(folder + "/model.safetensors.index.json") << index.dump();
}

TrainOutcome trained(const std::string& folder, Mesh mesh,
                     traces::DType dtype = traces::DType::kFloat32) {
  TrainConfig config;
  config.model_dir = folder;
  config.text = {test::sampleText()};
  config.seq_len = 32;
  config.batch = 2;
  config.steps = 1;
  config.dtype = dtype;
  config.dp = mesh.dp;
  config.tp = mesh.tp;
  config.cp = mesh.cp;
  Gate gate(mesh.worldSize());
  return runTraining(config, gate, nullptr);
}

TEST(LlamaWeightsTest, AModelInTwoFilesIsTheSameModel) {
  test::TempDir dir;
  writeModel(dir.file("one"), false);
  writeModel(dir.file("two"), true);
  EXPECT_EQ(trained(dir.file("one"), {1, 1, 2}).steps[0].loss,
            trained(dir.file("two"), {1, 1, 2}).steps[0].loss);
  std::ofstream(dir.file("two") + "/model.safetensors.index.json")
      << R"({"weight_map":{"model.embed_tokens.weight":"../../etc/passwd"}})";
  EXPECT_ERROR(trained(dir.file("two"), {1, 1, 1}), ErrorCode::kInput, "not a file of this folder");
}

/// The gradient of one bias equals the difference quotient of the loss in fp64, and every mesh
/// gives the same.
TEST(LlamaModelTest, BiasesHaveTheGradientOfTheirDifferences) {
  test::TempDir dir;
  writeModel(dir.file("m"), false);
  const auto whole = trained(dir.file("m"), {1, 1, 1}, traces::DType::kFloat64);
  const auto file = traces::SafeTensorsFile::read(dir.file("m") + "/model.safetensors");
  for (const std::string name :
       {"model.layers.1.self_attn.q_proj.bias", "model.layers.0.self_attn.v_proj.bias",
        "model.layers.0.self_attn.o_proj.bias"}) {
    double loss[2];
    for (int side = 0; side < 2; ++side) {
      std::map<std::string, at::Tensor> tensors;
      for (const auto& [n, view] : file.tensors()) tensors[n] = toTensor(view, n).to(at::kDouble);
      tensors[name][5] += side == 0 ? -1e-4 : 1e-4;
      const std::string folder = dir.file("side" + std::to_string(side));
      std::filesystem::create_directories(folder);
      std::filesystem::copy_file(dir.file("m") + "/config.json", folder + "/config.json",
                                 std::filesystem::copy_options::overwrite_existing);
      saveTensors(folder + "/model.safetensors", tensors);
      loss[side] = trained(folder, {1, 1, 1}, traces::DType::kFloat64).steps[0].loss;
    }
    EXPECT_NEAR(whole.gradients.at(name)[5].item<double>(), (loss[1] - loss[0]) / 2e-4, 1e-7)
        << name;
    for (const Mesh mesh : {Mesh{1, 1, 4}, Mesh{2, 2, 2}})
      EXPECT_LE((trained(dir.file("m"), mesh, traces::DType::kFloat64).gradients.at(name) -
                 whole.gradients.at(name))
                    .abs()
                    .max()
                    .item<double>(),
                1e-12)
          << name << " " << mesh.arithmetic();
  }
}

TEST(ShardedBuffersTest, BuffersAreShardsInsideAndWholeAfterwards) {
  const ShardLayout layout(16, 2, Balance::kHeadTail);
  at::Tensor ids = at::arange(32).view({2, 16}), rope = at::randn({16, 3}), once = at::arange(16);
  const at::Tensor whole_ids = ids, whole_rope = rope;
  {
    ShardedBuffers context({{&ids, 1}, {&rope, 0}, {&once, 0, false}}, layout, GroupRank::of(1));
    EXPECT_TRUE(at::equal(ids[0], at::tensor({4, 5, 6, 7, 8, 9, 10, 11}, at::kLong)));
    EXPECT_TRUE(at::equal(rope, whole_rope.slice(0, 4, 12)));
  }
  EXPECT_TRUE(ids.is_same(whole_ids));
  EXPECT_TRUE(rope.is_same(whole_rope));
  EXPECT_EQ(once.size(0), 8) << "asked not to be restored";
}

TEST(ShardedBuffersTest, WithOneRankNothingIsTouchedAndAWrongDimensionIsRefused) {
  at::Tensor ids = at::arange(32).view({2, 16});
  const at::Tensor whole = ids;
  {
    ShardedBuffers context({{&ids, 1, false}}, ShardLayout(16, 1, Balance::kNone),
                           GroupRank::of(0));
    EXPECT_TRUE(ids.is_same(whole));
  }
  EXPECT_TRUE(ids.is_same(whole));
  EXPECT_ERROR(ShardedBuffers({{&ids, 0}}, ShardLayout(16, 2, Balance::kNone), GroupRank::of(0)),
               ErrorCode::kUsage, "buffer 0 has no dimension 0");
  EXPECT_TRUE(ids.is_same(whole));
}

}  // namespace
}  // namespace ringscope::engine

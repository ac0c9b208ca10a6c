// SPDX-License-Identifier: Apache-2.0
// Model folders and checkpoints on the command line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "tests/support/run_program.h"
#include "traces/format/safetensors/safetensors.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::readContent;
using test::reference;
using test::ringscope;
using traces::SafeTensorsFile;

std::string familyRun(const std::string& model, const std::string& more) {
  const std::string folder = reference("family/" + model);
  return "train --model " + folder + "/model --tokens " + folder + "/tokens.safetensors --tp 2 " +
         "--cp 2 --capture none " + more;
}

/// Expects the same names with the same bytes.
void expectSameTensors(const std::string& file, const std::string& other) {
  const auto a = SafeTensorsFile::read(file), b = SafeTensorsFile::read(other);
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& [name, view] : a.tensors()) {
    const auto& same = b.at(name);
    EXPECT_EQ(view.shape, same.shape) << name;
    EXPECT_TRUE(std::equal(view.data, view.data + view.size_bytes, same.data)) << name;
  }
}

TEST(ModelsTest, ASavedModelIsOneOfItsFamilyAndTrainsOn) {
  for (const char* model : {"mistral", "qwen2", "qwen3"}) {
    test::TempDir dir;
    const auto saved = ringscope(familyRun(model, "--steps 1 --save-model " + dir.file("m")));
    ASSERT_EQ(saved.code, 0) << saved.err;
    const auto config = json::parse(readContent(dir.file("m/config.json")));
    EXPECT_EQ(config["model_type"], model);
    const auto before =
        SafeTensorsFile::read(reference("family/") + model + "/model/model.safetensors");
    const auto after = SafeTensorsFile::read(dir.file("m/model.safetensors"));
    EXPECT_EQ(before.tensors().size(), after.tensors().size());
    for (const auto& [name, view] : before.tensors()) EXPECT_EQ(after.at(name).shape, view.shape);
    const auto again =
        ringscope("train --model " + dir.file("m") + " --tokens " + reference("family/") + model +
                  "/tokens.safetensors --cp 4 --steps 1 --verify");
    EXPECT_EQ(again.code, 0) << again.err;
  }
}

TEST(ModelsTest, ACheckpointExportsTheRunsWeightsAsOneFile) {
  test::TempDir dir;
  const auto train = ringscope(familyRun(
      "qwen3", "--steps 2 --checkpoint " + dir.file("c") + " --save-model " + dir.file("m")));
  ASSERT_EQ(train.code, 0) << train.err;
  const auto exported = ringscope("checkpoint --json " + dir.file("c") + " -o " + dir.file("w"));
  ASSERT_EQ(exported.code, 0) << exported.err;
  expectSameTensors(dir.file("w"), dir.file("m/model.safetensors"));
  const auto said = json::parse(exported.out);
  EXPECT_EQ(said["next_step"], 2);
  EXPECT_EQ(said["tp"], 2);
  EXPECT_EQ(said["settings"]["--lr"], "0.001");
  const std::string inner = said["path"];
  ASSERT_EQ(ringscope("checkpoint " + inner + " --optimizer -o " + dir.file("all")).code, 0);
  const auto all = SafeTensorsFile::read(dir.file("all"));
  EXPECT_EQ(all.tensors().size(), 3 * SafeTensorsFile::read(dir.file("w")).tensors().size());
  EXPECT_TRUE(all.contains("second.model.layers.0.self_attn.q_norm.weight"));
  expectOneSentence(ringscope("checkpoint " + inner + " -o " + inner + "/tp-0.safetensors"),
                    "is the same file as the checkpoint");
  const auto resumed =
      ringscope(familyRun("qwen3", "--steps 3 --resume --checkpoint " + dir.file("c")));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("grad norm"), std::string::npos) << "its table has heads too";
}

TEST(ModelsTest, ReportsAMissingCheckpointWithOneSentence) {
  test::TempDir dir;
  expectOneSentence(ringscope("checkpoint " + dir.file("none")), "there is no checkpoint");
}

TEST(ModelsTest, ARecordingOfAModelCalibratesWhatIsPredictedOfIt) {
  test::TempDir dir;
  const std::string model = dir.file("m"), trace = dir.file("a.rscope"),
                    train = "train --cp 1 --capture none --text " + test::sampleText();
  ASSERT_EQ(ringscope(train + " --steps 1 --save-model " + model).code, 0);
  ASSERT_EQ(ringscope(train + " --steps 4 --model " + model + " --trace " + trace).code, 0);
  const std::string predict =
      "predict --dtype float32 --seq-len 256 --model " + model + " --calibrate " + trace;
  const auto alone = ringscope(predict + " --cp 1 --link pcie5 --json");
  ASSERT_EQ(alone.code, 0) << alone.err;
  const auto answer = json::parse(alone.out);
  EXPECT_GT(answer["asked"]["step_ns"].get<double>(), 1e5);
  EXPECT_NE(answer["assumptions"].dump().find("what it took in 1 recording,"), std::string::npos)
      << answer["assumptions"];
  EXPECT_TRUE(answer["asked"]["spread"].is_null()) << "one recording fits every cost";
  EXPECT_EQ(answer["assumptions"].dump().find("a hop takes"), std::string::npos) << "none is known";
  expectOneSentence(ringscope(predict + " --cp 1"), "name the link");
  const std::string untyped =
      "predict --seq-len 256 --cp 1 --link pcie5 --model " + model + " --calibrate " + trace;
  EXPECT_EQ(json::parse(ringscope(untyped + " --json").out)["asked"], answer["asked"]);
  expectOneSentence(ringscope(untyped + " --dtype bfloat16"),
                    "were made with --dtype float32, and a run with");
  expectOneSentence(ringscope(untyped + " --fp8"), "--dtype float32 --fp8 has other rates");
  expectOneSentence(ringscope(predict + " --cp 2 --link pcie5"),
                    "no recording to calibrate by has a stage 'merge'");
  ASSERT_EQ(ringscope(train + " --steps 1 --trace " + trace).code, 0);
  expectOneSentence(ringscope(predict + " --cp 1 --link pcie5"), "record a run with --model DIR");
  expectOneSentence(ringscope("predict " + trace + " --link pcie5 --calibrate " + trace),
                    "--calibrate goes with --model");
}

}  // namespace
}  // namespace ringscope

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/mistakes/registry.h"
#include "engine/train/training_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::engine {

inline TrainConfig training(int cp) {
  TrainConfig config;
  config.text = {ringscope::test::sampleText()};
  config.cp = cp;
  config.steps = 1;
  config.seq_len = 72;
  config.timeout = std::chrono::milliseconds(1500);
  return config;
}

inline TrainOutcome train(TrainConfig config, const std::string& mistake,
                          traces::Recorder* recorder = nullptr) {
  if (!mistake.empty()) config.mistakes = {mistake};
  Gate gate(config.mesh().worldSize());
  return runTraining(config, gate, recorder);
}

/// One attention over 4 query and 2 KV heads.
struct Attention {
  AttendInput in;
  AttendConfig config;
};

inline Attention attention(int cp, std::int64_t length = 72) {
  at::manual_seed(1);
  const auto tensor = [&](std::int64_t heads) { return at::randn({1, heads, length, 8}); };
  Attention a{{tensor(4), tensor(2), tensor(2), tensor(4)}, {}};
  a.in.scale = 0.4;
  a.config.cp = cp;
  a.config.timeout = std::chrono::milliseconds(1500);
  return a;
}

inline AttendOutcome attendWith(Attention a, const std::string& mistake,
                                traces::Recorder* recorder = nullptr) {
  if (!mistake.empty()) inject(mistake, a.config.seams);
  Gate gate(a.config.cp);
  return attend(a.in, a.config, gate, recorder);
}

inline bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, 1e-5, 1e-5, true);
}

inline bool sameTensors(const AttendOutcome& a, const AttendOutcome& b) {
  for (const auto& [name, tensor] : a.tensors)
    if (!same(tensor, b.tensors.at(name))) return false;
  return true;
}

/// Expects that the doctor finds this mistake and nothing else in the recorded run.
inline void expectNamed(const std::string& mistake, int ranks,
                        const std::function<void(traces::Recorder* recorder)>& run) {
  ringscope::test::TempDir dir;
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(dir.file("a.rscope")));
    traces::Recorder recorder(ranks, std::move(sinks));
    run(&recorder);
  }
  const auto diagnosis = traces::diagnose(*traces::openTrace(dir.file("a.rscope")));
  const auto findings = diagnosis.findings();
  ASSERT_EQ(findings.size(), 1u) << traces::toText(diagnosis);
  EXPECT_EQ(findings.front().rule, mistake) << traces::toText(diagnosis);
}
inline void expectNamed(const std::string& mistake, const TrainConfig& config) {
  expectNamed(mistake, config.worldSize(),
              [&](traces::Recorder* recorder) { train(config, mistake, recorder); });
}
inline void expectNamed(const std::string& mistake, const Attention& a) {
  expectNamed(mistake, a.config.cp,
              [&](traces::Recorder* recorder) { attendWith(a, mistake, recorder); });
}

inline void expectRefused(const TrainConfig& config, const std::string& mistake, const char* why) {
  EXPECT_ERROR(train(config, mistake), ErrorCode::kUsage, why);
}

}  // namespace ringscope::engine

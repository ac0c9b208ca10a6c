// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/attend_config.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"
#include "tests/support/one_device.h"

namespace ringscope::test {

using engine::AttendConfig;
using engine::AttendInput;
using engine::AttendOutcome;
using engine::HopTotals;

struct Combination {
  std::string file, strategy, balance, rotate = "p2p", order = "diagonal_first";
  int cp = 4, ulysses = 0;
  bool pad = false;

  std::string name() const {
    return file + "_" + strategy + (ulysses ? std::to_string(ulysses) : "") + "_" + balance + "_" +
           rotate + "_" + order + "_cp" + std::to_string(cp) + (pad ? "_pad" : "");
  }
  AttendConfig config() const {
    AttendConfig c = attendConfig(cp);
    c.balance.reset();
    if (!balance.empty()) c.balance = traces::parse<traces::Balance>(balance);
    c.strategy = traces::parse<traces::Strategy>(strategy);
    c.rotate = traces::parse<traces::Rotate>(rotate);
    c.order = traces::parse<traces::Order>(order);
    c.ulysses = ulysses;
    c.pad = pad;
    return c;
  }
};

inline void expectHops(const AttendOutcome& outcome, traces::RunSpec run, std::int64_t heads,
                       bool forward_only) {
  run.model.heads = heads;
  const int ulysses = traces::ulyssesSize(run);
  const engine::ExpectedHops expected = engine::expectedHops(
      run.strategy == traces::Strategy::kAllGather, run.order, run.cp / ulysses, ulysses);
  // Blocks that are gathered in another order are gathered before the first stage, also once.
  for (const HopTotals& hops : outcome.hops) {
    EXPECT_EQ(hops.kv_forward, expected.kv_forward);
    EXPECT_EQ(hops.heads_forward, expected.heads_forward);
    if (forward_only) continue;
    EXPECT_EQ(hops.kv_backward, expected.kv_backward);
    EXPECT_EQ(hops.dkv_backward, expected.dkv_backward);
    EXPECT_EQ(hops.heads_backward, expected.heads_backward);
  }
}

/// Compares results with those in the files, which PyTorch computed in fp64 independent of this
/// project. In a rank process only rank 0 has an outcome to check.
inline void expectEqualsReference(const Combination& c, const AttendConfig& config) {
  const std::string path = reference("attention/" + c.file + ".safetensors");
  const auto input = AttendInput::load(path);
  engine::Gate gate(config.fromEnvironment() ? 1 : c.cp);
  const auto outcome = engine::attend(input, config, gate);
  if (!outcome.tensors.contains("dv")) return;
  const auto file = traces::SafeTensorsFile::read(path);
  for (const auto& [name, plain] : oneDevice(input)) {
    const at::Tensor exact = engine::toTensor(file.at(name), name);
    EXPECT_LE(largestDifference(outcome.tensors.at(name), exact),
              2.5 * largestDifference(plain, exact) + 1e-7)
        << name << " of " << c.name();
  }
  expectHops(outcome, config, input.q.size(1), false);
}

/// Returns the combinations that can run: the number of heads must be a multiple of the Ulysses
/// ranks, and per_document needs documents with divisible lengths or padding.
inline std::vector<Combination> combinations() {
  std::vector<Combination> all;
  auto add = [&](Combination c) { all.push_back(std::move(c)); };
  const std::map<std::string, int> heads = {
      {"full", 4},          {"causal", 4},      {"causal_gqa", 8}, {"causal_wide_scores", 4},
      {"causal_window", 4}, {"causal_bf16", 4}, {"documents", 4},  {"documents_even", 8}};
  for (const auto& [file, count] : heads)
    for (const int cp : {2, 4, 8}) {
      std::vector<std::pair<std::string, bool>> balances = {{"none", false}};
      if (file != "full")
        balances.insert(balances.end(), {{"head_tail", false}, {"striped", false}});
      if (file.starts_with("documents")) balances.push_back({"ptrr", false});
      if (file == "documents") balances.push_back({"per_document", true});
      if (file == "documents_even") balances.push_back({"per_document", cp == 8 ? true : false});
      for (const auto& [balance, pad] : balances) {
        for (const char* rotate : {"p2p", "allgather", "alltoall"})
          for (const char* order : {"diagonal_first", "diagonal_last"})
            add({file, "ring", balance, rotate, order, cp, 0, pad});
        add({file, "all_gather", balance, "p2p", "diagonal_first", cp, 0, pad});
        if (count % cp == 0) add({file, "ulysses", balance, "p2p", "diagonal_first", cp, 0, pad});
        if (cp > 2)
          for (const char* order : {"diagonal_first", "diagonal_last"})
            add({file, "hybrid", balance, "p2p", order, cp, 2, pad});
      }
    }
  return all;
}

}  // namespace ringscope::test

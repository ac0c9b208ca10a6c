// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/gathered_step.h"

#include <ATen/ATen.h>

#include "engine/model/llama_slices.h"
#include "engine/parallel/gather.h"

namespace ringscope::engine {
namespace {

enum class Heads { kQuery, kKeyValue, kKeyValueGradient };

struct Field {
  at::Tensor LayerAttention::*tensor;
  Heads heads;
};

constexpr Field kFields[] = {
    {&LayerAttention::q, Heads::kQuery},
    {&LayerAttention::k, Heads::kKeyValue},
    {&LayerAttention::v, Heads::kKeyValue},
    {&LayerAttention::out, Heads::kQuery},
    {&LayerAttention::lse, Heads::kQuery},
    {&LayerAttention::dout, Heads::kQuery},
    {&LayerAttention::dq, Heads::kQuery},
    {&LayerAttention::dk, Heads::kKeyValueGradient},
    {&LayerAttention::dv, Heads::kKeyValueGradient},
};

/// The fields of a step that have a value per parameter.
constexpr std::vector<std::map<std::string, at::Tensor>> RankStep::*kByParameter[] = {
    &RankStep::gradients, &RankStep::own_gradients};

at::Tensor joined(const std::vector<at::Tensor>& parts, std::int64_t dim) {
  return parts.size() == 1 ? parts.front() : at::cat(parts, dim);
}

/// [B, H / tp, S, …] of each tp rank to [B, H, S, …]; `replicas`: tp ranks that hold one KV head.
at::Tensor joinedHeads(const std::vector<at::Tensor>& of_tp_ranks, Heads heads, int replicas) {
  if (heads == Heads::kQuery || replicas == 1) return joined(of_tp_ranks, 1);
  std::vector<at::Tensor> distinct;
  for (std::size_t r = 0; r < of_tp_ranks.size(); ++r) {
    if (r % static_cast<std::size_t>(replicas) == 0)
      distinct.push_back(of_tp_ranks[r]);
    else if (heads == Heads::kKeyValueGradient)
      distinct.back() = distinct.back() + of_tp_ranks[r];
  }
  return joined(distinct, 1);
}

/// The tensor of every cp rank, whole in batch and heads, from those of all ranks of the mesh.
std::vector<at::Tensor> joinedByCp(const Mesh& mesh, const std::vector<at::Tensor>& of_ranks,
                                   Heads heads, int replicas) {
  std::vector<at::Tensor> by_cp;
  for (const GroupRank cp : everyRank(mesh.cp)) {
    std::vector<at::Tensor> rows;
    for (const GroupRank dp : everyRank(mesh.dp)) {
      std::vector<at::Tensor> slices;
      for (const GroupRank tp : everyRank(mesh.tp))
        slices.push_back(of_ranks[mesh.rankFor({dp, tp, cp}).index()]);
      rows.push_back(joinedHeads(slices, heads, replicas));
    }
    by_cp.push_back(joined(rows, 0));
  }
  return by_cp;
}

/// The whole gradient of a parameter that the ranks of one dp and cp place have.
at::Tensor joinedGradient(const Mesh& mesh, GroupRank dp, GroupRank cp, const std::string& name,
                          const std::vector<at::Tensor>& of_ranks, const LlamaConfig& model) {
  std::vector<at::Tensor> slices;
  for (const GroupRank tp : everyRank(mesh.tp))
    slices.push_back(of_ranks[mesh.rankFor({dp, tp, cp}).index()]);
  return LlamaSlices::joined(name, slices, model);
}

/// Joins a tensor of one cp rank from all ranks of the mesh. It has the sequences of all dp ranks.
/// With `cut`, tp ranks have parts of it along the last dimension; otherwise all have it alike.
at::Tensor joinedShard(const Mesh& mesh, GroupRank cp, const std::vector<at::Tensor>& of_ranks,
                       bool cut) {
  std::vector<at::Tensor> rows;
  for (const GroupRank dp : everyRank(mesh.dp)) {
    std::vector<at::Tensor> parts;
    for (const GroupRank tp : everyRank(cut ? mesh.tp : 1))
      parts.push_back(of_ranks[mesh.rankFor({dp, tp, cp}).index()]);
    rows.push_back(joined(parts, -1));
  }
  return joined(rows, 0);
}

/// Returns the fields of a layer. Sinks are among them only if the layer has sinks.
std::vector<Field> fieldsOf(const LayerAttention& layer) {
  std::vector<Field> fields(std::begin(kFields), std::end(kFields));
  if (layer.sinks.defined())
    fields.insert(fields.end(), {{&LayerAttention::sinks, Heads::kQuery},
                                 {&LayerAttention::dsinks, Heads::kQuery}});
  return fields;
}

/// In the order in which gatherStep() takes them apart again.
std::vector<at::Tensor> tensorsOf(const RankStep& step) {
  std::vector<at::Tensor> tensors;
  for (const LayerAttention& layer : step.layers)
    for (const Field& field : fieldsOf(layer)) tensors.push_back(layer.*field.tensor);
  tensors.insert(tensors.end(), {step.logits, step.cos, step.sin});
  for (const auto field : kByParameter)
    for (const auto& [name, gradient] : (step.*field).front()) tensors.push_back(gradient);
  return tensors;
}

}  // namespace

std::vector<RankStep> gatherStep(MeshGroups& groups, const RankStep& mine,
                                 const LlamaConfig& model) {
  const Mesh& mesh = groups.mesh();
  const auto all = gatherToFirst(groups.world(), tensorsOf(mine));
  if (all.empty()) return {};
  std::vector<RankStep> steps(static_cast<std::size_t>(mesh.cp));
  for (RankStep& step : steps) step.layers.resize(mine.layers.size());
  const int replicas =
      std::max(1, mesh.tp / static_cast<int>(std::max<std::int64_t>(1, model.num_key_value_heads)));
  auto of_ranks = all.begin();
  for (std::size_t layer = 0; layer < mine.layers.size(); ++layer)
    for (const Field& field : fieldsOf(mine.layers[layer])) {
      const auto by_cp = joinedByCp(mesh, *of_ranks++, field.heads, replicas);
      for (std::size_t cp = 0; cp < steps.size(); ++cp)
        steps[cp].layers[layer].*field.tensor = by_cp[cp];
    }
  for (at::Tensor RankStep::*tensor : {&RankStep::logits, &RankStep::cos, &RankStep::sin}) {
    for (const GroupRank cp : everyRank(mesh.cp))
      steps[cp.index()].*tensor = joinedShard(mesh, cp, *of_ranks, tensor == &RankStep::logits);
    ++of_ranks;
  }
  for (const auto field : kByParameter)
    for (const auto& [name, gradient] : (mine.*field).front()) {
      for (const GroupRank cp : everyRank(mesh.cp)) {
        auto& of_dp_ranks = steps[cp.index()].*field;
        of_dp_ranks.resize(static_cast<std::size_t>(mesh.dp));
        for (const GroupRank dp : everyRank(mesh.dp))
          of_dp_ranks[dp.index()][name] = joinedGradient(mesh, dp, cp, name, *of_ranks, model);
      }
      ++of_ranks;
    }
  return steps;
}

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/replica_drift.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/trace/own_parameters.h"

namespace ringscope::traces {
namespace {

/// One slice of a parameter in one training step. The ranks of one dp × cp group hold the same
/// slice and are compared. tp ranks hold other slices.
struct Slice {
  std::int32_t train_step;
  std::string parameter;
  std::int32_t group;
  bool operator<(const Slice& other) const {
    return std::tie(train_step, parameter, group) <
           std::tie(other.train_step, other.parameter, other.group);
  }
};
using ByParameter = std::map<Slice, std::vector<const TensorRecord*>>;

/// Reports whether the recorder took the name from the optimizer's groups ("group0.3"), because the
/// tensor is no parameter of the model. ZeRO's optimizers hold a different partition per rank.
bool isPartition(const std::string& name) {
  constexpr std::string_view kGroup = "group";
  const bool is_group = name.size() > kGroup.size() && name.compare(0, kGroup.size(), kGroup) == 0;
  return is_group && name.find_first_not_of("0123456789.", kGroup.size()) == std::string::npos;
}

ByParameter collect(const Trace& trace, TensorKind kind) {
  ByParameter found;
  // Without recorded groups, all ranks of a run of RingScope without tp hold the same slices. An
  // imported job may have split its parameters in any way.
  const bool all_share = trace.run() && trace.run()->tp == 1 && !lacksGroups(trace);
  const OwnParameters own = ownParameters(trace);
  const GroupAxis replicas = own.unlike_groups ? GroupAxis::kCp : GroupAxis::kDpCp;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != kind || isPartition(tensor.tensor.name)) continue;
    if (own.names.contains(tensor.tensor.name)) continue;
    const GroupRecord* group = trace.groupContaining(tensor.rank, replicas);
    if (!group && !all_share) continue;
    found[{tensor.place.train_step, tensor.tensor.name, group ? group->id.value() : -1}].push_back(
        &tensor);
  }
  return found;
}

/// Returns the ranks whose hash differs from that of more than half of the ranks.
std::vector<WorldRank> oddRanks(const std::vector<const TensorRecord*>& ranks) {
  std::vector<WorldRank> odd;
  for (const TensorRecord* most : ranks) {
    odd.clear();
    for (const TensorRecord* tensor : ranks)
      if (tensor->hash != most->hash) odd.push_back(tensor->rank);
    if (2 * odd.size() < ranks.size()) return odd;
  }
  return {};
}

ReplicaDrift drift(const ByParameter& parameters) {
  ReplicaDrift result;
  for (const auto& [slice, ranks] : parameters) {
    if (result.first && slice.train_step != result.first->place.train_step) break;
    if (ranks.size() < 2) continue;
    ++result.parameters;
    double low = ranks.front()->stats.abs_max, high = low;
    const TensorRecord* other = nullptr;
    for (const TensorRecord* tensor : ranks) {
      if (!other && tensor->hash != ranks.front()->hash) other = tensor;
      low = std::min(low, tensor->stats.abs_max);
      high = std::max(high, tensor->stats.abs_max);
    }
    if (!other) continue;
    ++result.differing;
    if (!result.first) {
      result.first = other;
      result.like = ranks.front()->rank;
      result.odd = oddRanks(ranks);
    }
    if (low > 0) result.ratio = std::max(result.ratio, high / low);
  }
  return result;
}

/// Reports whether each parameter of a training step is the same on all ranks of each cp group.
bool agreeWithinCpGroups(const Trace& trace, const ByParameter& parameters,
                         std::int32_t train_step) {
  for (const auto& [slice, ranks] : parameters) {
    if (slice.train_step != train_step) continue;
    std::map<GroupId, std::uint64_t> hashes;
    for (const TensorRecord* tensor : ranks) {
      const GroupRecord* cp = trace.groupContaining(tensor->rank, GroupAxis::kCp);
      if (!cp || hashes.emplace(cp->id, tensor->hash).first->second != tensor->hash) return false;
    }
    if (hashes.size() == ranks.size()) return false;  // each rank is a cp group of its own
  }
  return true;
}

}  // namespace

ReplicaDrift readDrift(const Trace& trace, TensorKind kind) {
  const ByParameter parameters = collect(trace, kind);
  ReplicaDrift result = drift(parameters);
  result.between_replicas = result.differing > 0 && result.differing == result.parameters &&
                            agreeWithinCpGroups(trace, parameters, result.first->place.train_step);
  result.unnamed = std::ranges::count_if(trace.tensors(), [&](const TensorRecord& tensor) {
    return tensor.tensor.kind == kind && isPartition(tensor.tensor.name);
  });
  return result;
}

bool areSummedInUpdate(const Trace& trace, const ReplicaDrift& gradients) {
  const ReplicaDrift weights = readDrift(trace, TensorKind::kWeight);
  return weights.parameters > 0 && weights.differing == 0 &&
         trace.findTensor({TensorKind::kWeight, gradients.first->tensor.name},
                          gradients.first->place, gradients.first->rank);
}

}  // namespace ringscope::traces

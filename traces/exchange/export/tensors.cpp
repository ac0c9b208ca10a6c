// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "traces/exchange/export/format.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/safetensors/safetensors.h"

namespace ringscope::traces {
namespace {

const char* safeTensorType(DType dtype) {
  constexpr std::array<const char*, 6> kNames = {"F32", "F64", "BF16", "F16", "I32", "I64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

/// Returns a tensor's name, made of the parts of its key that apply:
/// "step0/layer1/backward/ring2/rank3/from1/piece0/dkv".
std::string nameFor(const TensorKey& key) {
  std::string text = "step" + std::to_string(key.place.train_step) + "/";
  const auto part = [&text](const char* what, auto id) {
    if (id.exists()) text += what + std::to_string(id.value()) + "/";
  };
  part("layer", key.place.layer);
  text += std::string(name(key.place.direction)) + "/";
  part("ring", key.place.stage);
  if (key.microbatch != 0) text += "microbatch" + std::to_string(key.microbatch) + "/";
  if (std::string_view(name(key.pass)) != name(key.place.direction))
    text += std::string(name(key.pass)) + "/";
  part("rank", key.rank);
  part("from", key.source_rank);
  part("piece", key.piece);
  return toUtf8(text + key.tensor.text());
}

/// Returns a tensor's values. Throws inputError when they cannot be read or do not match its shape.
std::optional<Bytes> valuesOf(const Trace& trace, const TensorRecord& tensor) {
  auto bytes = trace.bytes(tensor);
  std::size_t size = byteSize(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) size *= static_cast<std::size_t>(extent);
  if (bytes && bytes->size() != size)
    throw inputError("the values of " + describe(tensor) + " do not fit its shape");
  return bytes;
}

}  // namespace

/// Writes all tensors. Reads all values twice, because the header comes first and names the tensors
/// that can be read.
Exported writeTensors(const Trace& trace, std::ostream& out) {
  Exported exported;
  std::vector<SafeTensorEntry> entries;
  std::vector<const TensorRecord*> records;
  std::int64_t without = 0, repeated = 0;
  std::set<std::string> names;
  for (const TensorRecord& tensor : trace.tensors()) {
    try {
      const auto bytes = valuesOf(trace, tensor);
      const bool again = bytes && !names.insert(nameFor(tensor)).second;
      without += bytes ? 0 : 1;
      repeated += again ? 1 : 0;
      if (!bytes || again) continue;
      entries.push_back(
          {nameFor(tensor), safeTensorType(tensor.dtype), tensor.shape, bytes->size()});
      records.push_back(&tensor);
    } catch (const Error& error) {
      exported.left_out.emplace_back(error.what());
    }
  }
  if (without > 0)
    exported.left_out.push_back("of " + describeCount(without, "tensor") +
                                " the capture kept no values, so they are not written");
  if (repeated > 0)
    exported.left_out.push_back(describeCount(repeated, "tensor") +
                                " more have the key of one that is written");
  writeSafeTensors(out, entries, {{"written_by", "ringscope"}},
                   [&](std::size_t i) { return valuesOf(trace, *records[i]).value_or(Bytes()); });
  exported.counts = {{"tensors", std::ssize(entries)}};
  return exported;
}

}  // namespace ringscope::traces

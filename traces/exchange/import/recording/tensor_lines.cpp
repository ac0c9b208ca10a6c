// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/tensor_lines.h"

#include <algorithm>
#include <cstring>

#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

TensorLines::TensorLines(const RankLines& rank, std::vector<std::string>& problems) {
  std::int64_t left_out = 0;
  std::vector<std::pair<std::int64_t, const Line*>> all;
  for (const Line& line : rank.lines) {
    if (line.kind() != "tensor") continue;
    const std::int64_t id = line.whole("id");
    if (id >= 0 && by_id_.try_emplace(id, &line).second)
      all.emplace_back(id, &line);
    else
      ++left_out;
  }
  std::ranges::sort(all, {}, [](const auto& numbered) { return numbered.first; });
  for (const auto& [id, line] : all) by_what_[line->text("what")].push_back(line);
  if (left_out > 0)
    problems.push_back(describeCount(left_out, "tensor") + " of rank " + toString(rank.rank) +
                       " have no number, or that of another, and are left out");
}

const Line* TensorLines::of(std::int64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

const std::vector<const Line*>& TensorLines::called(const std::string& what) const {
  static const std::vector<const Line*> kNone;
  const auto found = by_what_.find(what);
  return found == by_what_.end() ? kNone : found->second;
}

void TensorSink::add(TensorRecord tensor, const Line& line) {
  const auto dtype = findByName<DType>(line.text("dtype"));
  if (!dtype || !line.has("stats")) return;
  tensor.dtype = *dtype;
  const auto shape = line.wholes("shape");
  if (tensor.shape.empty()) tensor.shape = shape;
  tensor.microbatch = line.microbatch();
  tensor.pass = line.text("pass") == "recompute" ? Pass::kRecompute : Pass::kForward;
  if (tensor.place.direction == Direction::kBackward) tensor.pass = Pass::kBackward;
  tensor.hash = line.hash("hash").value_or(0);
  tensor.hash_algorithm = line.flag("joined") ? rank_.hash_of_parts : rank_.hash;
  const Line stats = line.part("stats");
  tensor.stats = {stats.real("min").value_or(0),  stats.real("max").value_or(0),
                  stats.real("mean").value_or(0), stats.real("abs_max").value_or(0),
                  stats.whole("nan", 0),          stats.whole("inf", 0)};
  std::function<Bytes()> read;
  if (auto kept = job_.values->of(line, *dtype, shape, tensor.hash_algorithm, job_.problems))
    read = [values = job_.values, kept = *std::move(kept)] { return values->read(kept); };
  keep(std::move(tensor), std::move(read));
}

void TensorSink::keep(TensorRecord tensor, std::function<Bytes()> values) {
  tensor.rank = rank_.rank;
  if (!seen_.insert(tensor).second) return;
  tensor.id = TensorId::of(job_.tensors.size() + 1);
  tensor.has_values = values != nullptr;
  if (values) job_.kept[tensor.id.value()] = std::move(values);
  job_.tensors.push_back(std::move(tensor));
}

std::int64_t countElements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > (std::int64_t{1} << 30)) return -1;
    count *= extent;
    if (count > (std::int64_t{1} << 40)) return -1;
  }
  return count;
}

std::vector<std::int64_t> readIntegers(RecordedJob& job, const Line& tensor, HashAlgorithm hash) {
  if (tensor.text("dtype") != "int64") return {};
  const auto kept =
      job.values->of(tensor, DType::kInt64, tensor.wholes("shape"), hash, job.problems);
  if (!kept) return {};
  try {
    const Bytes bytes = job.values->read(*kept);
    std::vector<std::int64_t> all(bytes.size() / sizeof(std::int64_t));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(std::int64_t));
    return all;
  } catch (const Error&) {  // reported where the values are used
    return {};
  }
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/values.h"

#include <algorithm>
#include <filesystem>

#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

const char* safeTensorName(DType dtype) {
  constexpr const char* kNames[] = {"F32", "F64", "BF16", "F16", "I32", "I64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

}  // namespace

bool isFileOfValues(const std::string& name) {
  return name.starts_with("rank-") && name.ends_with(".safetensors") &&
         name.find(".values-") != std::string::npos && name.size() < 64 &&
         std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
         });
}

RecordedValues::File& RecordedValues::open(const std::string& name,
                                           std::vector<std::string>& problems) {
  const auto [known, first] = files_.try_emplace(name);
  File& file = known->second;
  if (!first) return file;
  const fs::path path = fs::path(folder_) / name;
  std::error_code error;
  try {
    if (!isFileOfValues(name)) throw inputError("'" + name + "' is no name of a file of values");
    if (!fs::is_regular_file(fs::symlink_status(path, error)))
      throw inputError(name + ", a file of values, is missing");
    file.index = SafeTensorsIndex::read(path.string());
    file.size_bytes = fs::file_size(path);
    file.is_read = true;
    if (!file.index.cut_off.empty())
      problems.push_back(name + " was cut: it ends before the values of " +
                         describeCount(std::ssize(file.index.cut_off), "tensor"));
  } catch (const Error& wrong) {
    problems.push_back(toPlainText(wrong.what()));
  }
  return file;
}

std::optional<KeptValues> RecordedValues::of(const Line& tensor, DType dtype,
                                             const std::vector<std::int64_t>& shape,
                                             HashAlgorithm hash,
                                             std::vector<std::string>& problems) {
  if (!tensor.has("values")) return std::nullopt;
  const Line values = tensor.part("values");
  KeptValues kept;
  kept.hash = tensor.hash("hash");
  kept.hash_algorithm = hash;
  if (!values.has("parts"))
    return add(kept, values, dtype, shape, problems) ? std::optional(std::move(kept))
                                                     : std::nullopt;
  for (const Line& part : values.parts("parts"))
    if (!add(kept, part, dtype, part.wholes("shape"), problems)) return std::nullopt;
  return kept;
}

bool RecordedValues::add(KeptValues& kept, const Line& values, DType dtype,
                         const std::vector<std::int64_t>& shape,
                         std::vector<std::string>& problems) {
  const std::string name = values.text("file"), key = values.text("key");
  File& file = open(name, problems);
  if (!file.is_read || file.index.cut_off.contains(key)) return false;
  const auto found = file.index.tensors.find(key);
  const auto refuse = [&](const std::string& why) {
    problems.push_back("the values of " + key + " in " + name + " " + why);
    return false;
  };
  if (found == file.index.tensors.end()) return refuse("are not there");
  const SafeTensorPlace& place = found->second;
  if (place.dtype != safeTensorName(dtype) || place.shape != shape)
    return refuse("have another type or shape than their tensor");
  // Layers may share values, such as rotary tables. Without a limit a small file could expand to
  // huge memory.
  constexpr std::uint64_t kMostExpansion = 16;
  file.named_bytes += place.size_bytes;
  if (file.named_bytes > kMostExpansion * file.size_bytes)
    return refuse("are named by too many tensors");
  if (kept.parts.empty()) kept.what = key + " in " + name;
  kept.parts.push_back({name, place.begin, place.size_bytes});
  return true;
}

Bytes RecordedValues::read(const KeptValues& values) const {
  Bytes all;
  for (const KeptValues::Part& part : values.parts) {
    Bytes bytes =
        readFilePart((fs::path(folder_) / part.file).string(), part.begin, part.size_bytes);
    if (all.empty())
      all = std::move(bytes);
    else
      all.insert(all.end(), bytes.begin(), bytes.end());
  }
  if (values.hash && computeHash(values.hash_algorithm, all.data(), all.size()) != *values.hash)
    throw inputError("the values of " + values.what +
                     " are damaged: they are not those whose hash was recorded");
  return all;
}

}  // namespace ringscope::traces

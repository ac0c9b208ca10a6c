// SPDX-License-Identifier: Apache-2.0
#include "traces/import/recording/values.h"

#include <algorithm>
#include <filesystem>

#include "traces/core/error.h"
#include "traces/core/utf8.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

const char* safeTensorName(DType dtype) {
  constexpr const char* kNames[] = {"F32", "F64", "BF16", "F16", "I32", "I64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

/// "rank-00000.values-0001.safetensors", and nothing that names another folder.
bool isFileOfValues(const std::string& name) {
  return name.starts_with("rank-") && name.ends_with(".safetensors") &&
         name.find(".values-") != std::string::npos && name.size() < 64 &&
         std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
         });
}

}  // namespace

const SafeTensorsFile* RecordedValues::open(const std::string& name,
                                            std::vector<std::string>& problems) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second ? &*known->second : nullptr;
  auto& file = files_[name];
  const fs::path path = fs::path(folder_) / name;
  std::error_code error;
  try {
    if (!isFileOfValues(name)) throw inputError("'" + name + "' is no name of a file of values");
    if (!fs::is_regular_file(fs::symlink_status(path, error)))
      throw inputError(name + ", a file of values, is missing");
    file = SafeTensorsFile::read(path.string());
  } catch (const Error& wrong) {
    problems.push_back(toPlainText(wrong.what()));
  }
  return file ? &*file : nullptr;
}

std::optional<Bytes> RecordedValues::of(const Line& tensor, DType dtype,
                                        const std::vector<std::int64_t>& shape,
                                        std::vector<std::string>& problems) {
  if (!tensor.has("values")) return std::nullopt;
  const Line values = tensor.part("values");
  if (!values.has("parts")) return at(values, dtype, shape, problems);
  Bytes all;
  for (const auto& json : values.json()["parts"]) {
    const Line part(json);
    const auto bytes = at(part, dtype, part.wholes("shape"), problems);
    if (!bytes) return std::nullopt;
    all.insert(all.end(), bytes->begin(), bytes->end());
  }
  return all;
}

std::optional<Bytes> RecordedValues::at(const Line& values, DType dtype,
                                        const std::vector<std::int64_t>& shape,
                                        std::vector<std::string>& problems) {
  const std::string name = values.text("file"), key = values.text("key");
  const SafeTensorsFile* file = open(name, problems);
  if (!file || !file->contains(key)) return std::nullopt;
  const SafeTensorView& view = file->at(key);
  if (view.dtype != safeTensorName(dtype) || view.shape != shape) {
    problems.push_back("the values of " + key + " in " + name +
                       " have another type or shape than their tensor");
    return std::nullopt;
  }
  return Bytes(view.data, view.data + view.size_bytes);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/core/bytes.h"
#include "traces/import/recording/lines.h"
#include "traces/safetensors/safetensors.h"
#include "traces/schema/records.h"

namespace ringscope::traces {

/// The elements that a recording kept, in the safetensors files of its folder.
class RecordedValues {
 public:
  explicit RecordedValues(std::string folder) : folder_(std::move(folder)) {}

  /// Of the tensor that a line describes, one after the other where they are `parts`; nothing where
  /// none were kept, or where they are damaged or of another type or shape, which a sentence in
  /// `problems` then says. Names lead to no other folder, and links are not followed.
  std::optional<Bytes> of(const Line& tensor, DType dtype, const std::vector<std::int64_t>& shape,
                          std::vector<std::string>& problems);

 private:
  std::optional<Bytes> at(const Line& values, DType dtype, const std::vector<std::int64_t>& shape,
                          std::vector<std::string>& problems);
  const SafeTensorsFile* open(const std::string& name, std::vector<std::string>& problems);

  std::string folder_;
  std::map<std::string, std::optional<SafeTensorsFile>> files_;
};

}  // namespace ringscope::traces

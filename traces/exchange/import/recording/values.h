// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/lines/lines.h"
#include "traces/format/core/bytes.h"
#include "traces/format/safetensors/index.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// The location of the elements of a tensor, in one piece or in several consecutive ones.
struct KeptValues {
  struct Part {
    std::string file;
    std::uint64_t begin = 0, size_bytes = 0;
  };
  std::vector<Part> parts;
  std::string what;                   ///< description of the first part, for messages
  std::optional<std::uint64_t> hash;  ///< hash that the recorder computed
  HashAlgorithm hash_algorithm = HashAlgorithm::kMixSum64;
};

/// Reports whether a name is of the form "rank-00000.values-0001.safetensors", which leads to no
/// other folder.
bool isFileOfValues(const std::string& name);

/// The elements that a recording kept, in the safetensors files of its folder. They stay in the
/// files until they are read; this class only records their location.
class RecordedValues {
 public:
  explicit RecordedValues(std::string folder) : folder_(std::move(folder)) {}

  /// Returns the location of a tensor's values. `tensor` is its line; `dtype`, `shape` and `hash`
  /// are those of its record. Returns nullopt when no values were kept. Values that are cut off or
  /// have another type or shape also give nullopt, with a sentence in `problems`. Names never lead
  /// to another folder, and links are not followed.
  std::optional<KeptValues> of(const Line& tensor, DType dtype,
                               const std::vector<std::int64_t>& shape, HashAlgorithm hash,
                               std::vector<std::string>& problems);
  /// Reads the values. Throws inputError when they cannot be read, or when they do not match the
  /// recorded hash.
  Bytes read(const KeptValues& values) const;

 private:
  struct File {
    SafeTensorsIndex index;
    bool is_read = false;
    std::uint64_t size_bytes = 0;
    std::uint64_t named_bytes = 0;  ///< total size of the values of the tensors that refer to it
  };
  bool add(KeptValues& kept, const Line& values, DType dtype,
           const std::vector<std::int64_t>& shape, std::vector<std::string>& problems);
  File& open(const std::string& name, std::vector<std::string>& problems);

  std::string folder_;
  std::map<std::string, File> files_;
};

}  // namespace ringscope::traces

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

/// Where the elements of a tensor are, in one piece or in several that follow each other.
struct KeptValues {
  struct Part {
    std::string file;
    std::uint64_t begin = 0, size_bytes = 0;
  };
  std::vector<Part> parts;
  std::string what;                   ///< the first part, for a sentence
  std::optional<std::uint64_t> hash;  ///< as the recorder computed it
  HashAlgorithm hash_algorithm = HashAlgorithm::kMixSum64;
};

/// Whether a name is "rank-00000.values-0001.safetensors" or alike, and leads to no other folder.
bool isFileOfValues(const std::string& name);

/// The elements that a recording kept, in the safetensors files of its folder. They stay there
/// until they are read; what is kept here is which file has what.
class RecordedValues {
 public:
  explicit RecordedValues(std::string folder) : folder_(std::move(folder)) {}

  /// Where the values of a tensor are, of which the recording has this line and which the record
  /// has as this type, shape and hash; nothing where none were kept, or where they are cut off or
  /// of another type or shape, which a sentence in `problems` then says. Names lead to no other
  /// folder, and links are not followed.
  std::optional<KeptValues> of(const Line& tensor, DType dtype,
                               const std::vector<std::int64_t>& shape, HashAlgorithm hash,
                               std::vector<std::string>& problems);
  /// Throws inputError where they cannot be read, or are not those of which the hash is.
  Bytes read(const KeptValues& values) const;

 private:
  struct File {
    SafeTensorsIndex index;
    bool is_read = false;
    std::map<std::string, int> uses;  ///< how many tensors name the values of this key
  };
  bool add(KeptValues& kept, const Line& values, DType dtype,
           const std::vector<std::int64_t>& shape, std::vector<std::string>& problems);
  File& open(const std::string& name, std::vector<std::string>& problems);

  std::string folder_;
  std::map<std::string, File> files_;
};

}  // namespace ringscope::traces

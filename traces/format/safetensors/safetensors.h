// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "traces/format/core/bytes.h"
#include "traces/format/safetensors/index.h"

namespace ringscope::traces {

/// A tensor inside a safetensors file. `data` points into the file's bytes.
struct SafeTensorView {
  std::string dtype;  ///< as the file spells it: F32, F64, BF16, F16, I32, I64, …
  std::vector<std::int64_t> shape;
  const std::uint8_t* data = nullptr;
  std::size_t size_bytes = 0;
};

/// A safetensors file in memory (format: https://github.com/huggingface/safetensors). Untrusted
/// input: sizes, offsets, overlaps and the header's JSON are checked before anything is used.
class SafeTensorsFile {
 public:
  /// Reads a file. Throws inputError with a message that names the file.
  static SafeTensorsFile read(const std::string& path);
  /// Parses bytes in the same way. `source` names them in errors.
  static SafeTensorsFile parse(Bytes bytes, const std::string& source);
  SafeTensorsFile(SafeTensorsFile&&) = default;
  SafeTensorsFile& operator=(SafeTensorsFile&&) = default;

  const std::map<std::string, SafeTensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool contains(const std::string& name) const { return tensors_.count(name) > 0; }
  /// Returns the tensor of that name. Throws inputError when there is none.
  const SafeTensorView& at(const std::string& name) const;

 private:
  SafeTensorsFile() = default;
  std::string source_;
  Bytes bytes_;
  std::map<std::string, SafeTensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to write.
struct SafeTensorEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t size_bytes = 0;
};

/// Writes tensors in this order. Calls `data` for each tensor in turn, which returns its bytes.
/// Throws inputError when their number differs from the entry's size_bytes.
void writeSafeTensors(std::ostream& out, const std::vector<SafeTensorEntry>& entries,
                      const std::map<std::string, std::string>& metadata,
                      const std::function<Bytes(std::size_t entry)>& data);

/// Writes a safetensors file by means of OutputFile. Throws inputError when the file cannot be
/// written.
void writeSafeTensors(const std::string& path, const std::map<std::string, SafeTensorView>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/format/safetensors/safetensors.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "traces/format/core/input_file.h"
#include "traces/format/core/output_file.h"

namespace ringscope::traces {
SafeTensorsFile SafeTensorsFile::read(const std::string& path) {
  return parse(readFileBytes(path), path);
}

SafeTensorsFile SafeTensorsFile::parse(Bytes bytes, const std::string& source) {
  SafeTensorsFile file;
  file.source_ = source;
  file.bytes_ = std::move(bytes);
  const std::string_view all(reinterpret_cast<const char*>(file.bytes_.data()), file.bytes_.size());
  const std::uint64_t header_bytes = safeTensorsHeaderBytes(all, all.size(), source);
  SafeTensorsIndex index = SafeTensorsIndex::parse(all.substr(8, header_bytes), all.size(), source);
  if (!index.cut_off.empty())
    throw inputError(source + ": '" + *index.cut_off.begin() + "' lies outside the file");
  for (auto& [name, place] : index.tensors)
    file.tensors_[name] = {std::move(place.dtype), std::move(place.shape),
                           file.bytes_.data() + place.begin, place.size_bytes};
  file.metadata_ = std::move(index.metadata);
  return file;
}

const SafeTensorView& SafeTensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw inputError(source_ + " has no tensor '" + name + "'");
  return found->second;
}

namespace {

/// Writes everything before the data. The data offsets follow from the order of the entries.
void writeHeader(std::ostream& out, const std::vector<SafeTensorEntry>& entries,
                 const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const SafeTensorEntry& entry : entries) {
    header[entry.name] = {{"dtype", entry.dtype},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + entry.size_bytes}}};
    offset += entry.size_bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = text.size();
  out.write(reinterpret_cast<const char*>(&header_bytes), 8);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace

void writeSafeTensors(std::ostream& out, const std::vector<SafeTensorEntry>& entries,
                      const std::map<std::string, std::string>& metadata,
                      const std::function<Bytes(std::size_t entry)>& data) {
  writeHeader(out, entries, metadata);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Bytes bytes = data(i);
    if (bytes.size() != entries[i].size_bytes)
      throw inputError("the values of " + entries[i].name + " changed while they were written");
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
}

void writeSafeTensors(const std::string& path, const std::map<std::string, SafeTensorView>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<SafeTensorEntry> entries;
  entries.reserve(tensors.size());
  for (const auto& [name, view] : tensors)
    entries.push_back({name, view.dtype, view.shape, view.size_bytes});
  OutputFile file(path);
  writeHeader(file.stream(), entries, metadata);
  for (const auto& [name, view] : tensors)
    file.stream().write(reinterpret_cast<const char*>(view.data),
                        static_cast<std::streamsize>(view.size_bytes));
  file.finish();
}

}  // namespace ringscope::traces

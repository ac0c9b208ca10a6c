// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/content.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "traces/format/core/error.h"
#include "traces/format/core/inflate.h"
#include "traces/format/core/input_file.h"
#include "traces/format/storage/read_only.h"

namespace ringscope::traces {
namespace {

constexpr std::string_view kCompressed = ".gz";

}  // namespace

FileContent readContent(const std::string& path, std::uint64_t most_bytes) {
  std::string bytes = readFile(path, most_bytes);
  if (!beginsAsGzip(bytes)) return {std::move(bytes), ""};
  const std::uint64_t most = std::min(most_bytes, availableMemory() / 2);
  Inflated inflated = inflate(bytes, most);
  if (inflated.full)
    throw inputError(path + ": has more than " + std::to_string(most) +
                     " bytes when it is decompressed, which are the most that can be read");
  return {std::move(inflated.bytes), std::move(inflated.damage)};
}

std::array<std::uint8_t, 128> readContentHead(const std::string& path) {
  auto head = readFileHead(path);
  if (!beginsAsGzip({reinterpret_cast<const char*>(head.data()), head.size()})) return head;
  // A file begins with its name and with the table of its first block.
  std::string bytes(8192, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  const Inflated inflated = inflate(bytes, head.size());
  head.fill(0);
  std::ranges::copy(inflated.bytes, head.begin());
  return head;
}

bool beginsAsObjectWith(std::span<const std::uint8_t> head, std::string_view key) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::size_t brace = text.find_first_not_of(" \t\r\n");
  return brace != std::string_view::npos && text[brace] == '{' &&
         text.find('"' + std::string(key) + '"') != std::string_view::npos;
}

std::string nameWithoutEndings(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view ending :
       {kCompressed, std::string_view(".json"), std::string_view(".jsonl"),
        std::string_view(".log"), std::string_view(".pickle"), std::string_view(".pkl")})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

bool hasEnding(std::string_view path, std::string_view ending) {
  if (path.ends_with(kCompressed)) path.remove_suffix(kCompressed.size());
  return path.ends_with(ending);
}

}  // namespace ringscope::traces

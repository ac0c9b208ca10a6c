// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/remote/remote_source.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

constexpr Format kFormats[] = {
    {"RingScope traces (.rscope)", beginsAsRscope, openRscope},
    {"folders with files of several of the formats below", nullptr, openMixed, filesOfMixed},
    {"recorded PyTorch jobs (a folder)", nullptr, openRecording, filesOfRecording},
    {"JSON of PyTorch's profiler (a file, or a folder with one of each rank)", beginsAsKineto,
     openKineto, filesOfKineto},
    {"dumps of PyTorch's Flight Recorder (a file, or a folder with one of each rank)",
     beginsAsFlightRecorder, openFlightRecorder, filesOfFlightRecorder},
    {"logs of PyTorch's DebugMode (a file, or a folder with one of each rank)", beginsAsDebugMode,
     openDebugMode, filesOfDebugMode},
    {"logs of NCCL's Inspector (a file, or a folder with one of each rank)", beginsAsNcclInspector,
     openNcclInspector, filesOfNcclInspector},
    {"SQLite exports of Nsight Systems (a file, or a folder with one of each rank)", beginsAsNsight,
     openNsight, filesOfNsight},
};

[[noreturn]] void refuse(const std::string& why) {
  std::string names;
  for (const Format& format : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  throw inputError(why + "; what can be opened: " + names);
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

std::shared_ptr<ChunkSource> openSource(const std::string& path) {
  namespace fs = std::filesystem;
  if (isRemoteAddress(path)) return openRemote(path);
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw inputError(path + ": no such file");
  if (fs::is_directory(status)) {
    for (const Format& format : kFormats)
      if (format.files && !format.files(path).empty()) return format.open(path);
    refuse(path + " is a folder, not a trace");
  }
  if (!fs::is_regular_file(status)) refuse(path + " is not a plain file, so not a trace");
  if (fs::file_size(path, error) == 0)
    throw inputError(path + " is empty: nothing was written to it before its recording ended");
  const auto head = readContentHead(path);
  for (const Format& format : kFormats)
    if (format.begins && format.begins(head)) return format.open(path);
  refuse(path + " is not a RingScope trace");
}

std::uint64_t sizeOfRecording(const std::string& path) {
  namespace fs = std::filesystem;
  if (isRemoteAddress(path)) return remoteSize(path);
  std::error_code error;
  std::vector<std::string> files;
  if (!fs::is_directory(path, error))
    files.push_back(path);
  else
    for (const Format& format : kFormats)  // the same order as in openSource()
      if (files.empty() && format.files) files = format.files(path);
  std::uint64_t bytes = 0;
  for (const std::string& file : files)
    if (const auto size = fs::file_size(file, error); !error) bytes += size;
  return bytes;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// A format of recordings that can be opened. One that is not ours is a file here whose open()
/// fills a MemorySource or is a ChunkSource of its own.
struct Format {
  const char* name;  ///< in the plural, with its usual suffix
  /// Whether a file that begins with these bytes is one; a short file is filled up with zeros.
  /// Null: of this format a recording is a folder alone.
  bool (*begins)(std::span<const std::uint8_t> head);
  /// Throws inputError with the file's name.
  std::shared_ptr<ChunkSource> (*open)(const std::string& path);
  /// The paths of the plain files in a folder that are a recording; empty where the folder holds
  /// none. Null: of this format a recording is a file alone.
  std::vector<std::string> (*files)(const std::string& folder) = nullptr;
};

/// All formats; a new one is a file in this folder and a line in registry.cpp.
std::span<const Format> formats();

/// RingScope's own.
bool beginsAsRscope(std::span<const std::uint8_t> head);
std::shared_ptr<ChunkSource> openRscope(const std::string& path);

/// A folder with a file of each rank, as the Python package writes it
/// (traces/recorder/FORMAT.md). Damaged lines and values are named and left out.
std::vector<std::string> filesOfRecording(const std::string& folder);
std::shared_ptr<ChunkSource> openRecording(const std::string& folder);

/// JSON of PyTorch's profiler (Kineto): one file, or a folder with a file of each rank. A file that
/// is compressed is refused with a sentence.
bool beginsAsKineto(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfKineto(const std::string& folder);
std::shared_ptr<ChunkSource> openKineto(const std::string& path);

/// JSON of PyTorch's Flight Recorder: one dump, or a folder with a dump of each rank. A pickled
/// dump is refused with the way to JSON: opening a pickle runs what it says.
bool beginsAsFlightRecorder(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfFlightRecorder(const std::string& folder);
std::shared_ptr<ChunkSource> openFlightRecorder(const std::string& path);

/// Opens a recording by what it holds, whatever it is called. Throws inputError that says what can
/// be opened when it is none of the formats.
std::shared_ptr<ChunkSource> openSource(const std::string& path);

/// Returns the bytes of a recording: of its file, or of the files in its folder that belong to it.
/// 0 where there is nothing that could be opened.
std::uint64_t sizeOfRecording(const std::string& path);

}  // namespace ringscope::traces
